-- Runs of all tenants that can be claimed with one of these profiles, for the shared pool. The tenant with the fewest runs
-- on the pool comes first, counting its earlier rows in this list; then the longest waiting. A run with an open job is
-- left to the runner of that job.
WITH held AS (
    SELECT run.tenant, count(*) AS runs
    FROM leases AS lease
    INNER JOIN runners AS runner ON runner.id = lease.runner AND runner.tenant IS NULL
    INNER JOIN runs AS run ON run.id = lease.run
    GROUP BY run.tenant
)

SELECT waiting.run AS "id!", profile.tenant AS "tenant!", profile.backend_profile AS "backend_profile!"
FROM list_waiting_profiles() AS profile
LEFT JOIN held ON held.tenant = profile.tenant
CROSS JOIN LATERAL (
    SELECT candidate.run, candidate.since
    FROM waiting_runs AS candidate
    WHERE candidate.tenant = profile.tenant
        AND candidate.backend_profile = profile.backend_profile
        AND NOT EXISTS (
            SELECT 1 FROM runner_jobs AS job
            WHERE job.run = candidate.run AND job.ended_at IS NULL AND job.kind <> 'warm'
        )
    ORDER BY candidate.since
    LIMIT $3
) AS waiting
WHERE ($1::text IS NULL OR profile.backend_profile = $1) AND profile.backend_profile = ANY ($2)
ORDER BY
    coalesce(held.runs, 0) + row_number() OVER (PARTITION BY profile.tenant ORDER BY waiting.since),
    waiting.since
LIMIT $3
