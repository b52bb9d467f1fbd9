-- Open runs without a lease whose waiting time has run out: runs with a command wait for a runner, idle ones for a command.
-- Each part starts from an index that has only runs that are due, or that a runner holds.
SELECT DISTINCT run.id
FROM (
    SELECT waiting.run
    FROM waiting_runs AS waiting
    WHERE waiting.since < now() - $1::float8 * interval '1 second'
    UNION ALL
    SELECT command.run
    FROM commands AS command
    WHERE command.state = 'running'
    UNION ALL
    SELECT idle.id AS run
    FROM runs AS idle
    WHERE idle.state <> 'ended' AND idle.waiting_since < now() - $2::float8 * interval '1 second'
) AS due
INNER JOIN runs AS run ON run.id = due.run
WHERE run.state <> 'ended'
    AND NOT EXISTS (SELECT 1 FROM leases AS lease WHERE lease.run = run.id)
    AND run.waiting_since < now() - CASE
        WHEN EXISTS (
            SELECT 1 FROM commands AS command
            WHERE command.run = run.id AND command.state IN ('pending', 'running')
        ) THEN $1::float8
        ELSE $2::float8
    END * interval '1 second'
    -- A parked question has its own limit, and its answer continues the run.
    AND NOT EXISTS (
        SELECT 1 FROM approvals AS approval
        WHERE approval.run = run.id AND approval.status = 'pending' AND approval.parked
    )
LIMIT $3
