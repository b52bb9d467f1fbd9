-- Open runs without a lease whose waiting time has run out.
SELECT run.id
FROM runs AS run
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
