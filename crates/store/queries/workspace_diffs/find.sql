SELECT
    command,
    sealed_content,
    created_at AS "created_at: Timestamp"
FROM workspace_diffs
WHERE run = $1
