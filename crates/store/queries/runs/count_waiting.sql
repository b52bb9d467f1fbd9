-- The runs with a pending command and no runner, among the oldest pending commands.
SELECT count(DISTINCT run.id) AS "waiting!"
FROM (
    SELECT command.run
    FROM commands AS command
    WHERE command.state = 'pending'
    ORDER BY command.created_at
    LIMIT $1
) AS pending
INNER JOIN runs AS run ON run.id = pending.run
WHERE run.state = 'open' AND NOT EXISTS (SELECT 1 FROM leases AS lease WHERE lease.run = run.id)
