INSERT INTO workspace_diffs (run, command, sealed_content)
VALUES ($1, $2, $3)
ON CONFLICT (run) DO UPDATE
SET command = excluded.command, sealed_content = excluded.sealed_content, created_at = excluded.created_at
