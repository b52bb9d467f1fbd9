-- Runs of these tenants and profiles that have waited for a runner and have no open job, with the number of jobs that
-- were started for the waiting commands and have ended, and the time since the last one ended. Runs with too many ended
-- jobs are skipped. The tenant with the fewest jobs comes first, counting its earlier rows in this list.
WITH busy AS (
    SELECT run.tenant, count(*) AS jobs
    FROM runner_jobs AS job
    INNER JOIN runs AS run ON run.id = job.run
    WHERE job.ended_at IS NULL
    GROUP BY run.tenant
),

waiting AS (
    SELECT run.id, run.tenant, min(command.created_at) AS since
    FROM commands AS command
    INNER JOIN runs AS run ON run.id = command.run
    WHERE command.state = 'pending'
        AND run.state = 'open'
        AND (run.tenant, run.backend_profile) IN (SELECT * FROM unnest($1::uuid [], $2::text []))
        AND run.waiting_since < now() - $3::float8 * interval '1 second'
        AND NOT EXISTS (SELECT 1 FROM leases AS lease WHERE lease.run = run.id)
        AND NOT EXISTS (
            SELECT 1 FROM runner_jobs AS job
            WHERE job.run = run.id AND job.ended_at IS NULL AND job.kind <> 'warm'
        )
    GROUP BY run.id
)

SELECT
    waiting.id,
    before.ended AS "ended!",
    extract(EPOCH FROM now() - before.last_ended_at)::float8 AS seconds_since
FROM waiting
CROSS JOIN LATERAL (
    SELECT count(*) AS ended, max(job.ended_at) AS last_ended_at
    FROM runner_jobs AS job
    WHERE job.run = waiting.id AND job.created_at > waiting.since AND job.ended_at IS NOT NULL
) AS before
LEFT JOIN busy ON busy.tenant = waiting.tenant
WHERE before.ended < $4
ORDER BY
    coalesce(busy.jobs, 0) + row_number() OVER (PARTITION BY waiting.tenant ORDER BY waiting.since),
    waiting.since
LIMIT $5
