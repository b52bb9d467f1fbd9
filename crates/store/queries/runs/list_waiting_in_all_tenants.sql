-- Runs of all tenants with a pending command and no runner, for the shared pool. The tenant with the fewest runs on the
-- pool comes first, counting its earlier rows in this list; then the longest waiting. A run with an open job is left to
-- the runner of that job.
WITH held AS (
    SELECT run.tenant, count(*) AS runs
    FROM leases AS lease
    INNER JOIN runners AS runner ON runner.id = lease.runner AND runner.tenant IS NULL
    INNER JOIN runs AS run ON run.id = lease.run
    GROUP BY run.tenant
),

waiting AS (
    SELECT run.id, run.tenant, min(command.created_at) AS since
    FROM commands AS command
    INNER JOIN runs AS run ON run.id = command.run
    WHERE command.state = 'pending'
        AND run.state = 'open'
        AND ($1::text IS NULL OR run.backend_profile = $1)
        AND run.backend_profile = ANY ($2)
        AND NOT EXISTS (SELECT 1 FROM leases AS lease WHERE lease.run = run.id)
        AND NOT EXISTS (
            SELECT 1 FROM runner_jobs AS job
            WHERE job.run = run.id AND job.ended_at IS NULL AND job.kind <> 'warm'
        )
    GROUP BY run.id
)

SELECT waiting.id
FROM waiting
LEFT JOIN held ON held.tenant = waiting.tenant
ORDER BY
    coalesce(held.runs, 0) + row_number() OVER (PARTITION BY waiting.tenant ORDER BY waiting.since),
    waiting.since
LIMIT $3
