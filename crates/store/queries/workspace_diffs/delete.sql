DELETE FROM workspace_diffs WHERE run = $1
