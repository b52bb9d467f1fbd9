-- The changes after a turn. They are stale when a later turn has changed the workspace, or still does.
SELECT
    diff.command,
    diff.sealed_content,
    diff.created_at AS "created_at: Timestamp",
    EXISTS (
        SELECT FROM commands AS reported
        INNER JOIN commands AS later ON later.run = reported.run AND later.ordinal > reported.ordinal
        WHERE reported.id = diff.command AND later.kind = 'turn' AND later.acked_at IS NOT NULL
    ) AS "is_stale!"
FROM workspace_diffs AS diff
WHERE diff.run = $1
