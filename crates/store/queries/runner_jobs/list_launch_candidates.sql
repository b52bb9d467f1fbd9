-- Runs of these tenants and profiles that have waited for a runner and have no open job, with the number of jobs that
-- were started for the waiting commands and have ended, and the time since the last one ended. Runs with too many ended
-- jobs are skipped. The tenant with the fewest jobs comes first, counting its earlier rows in this list.
WITH busy AS (
    SELECT run.tenant, count(*) AS jobs
    FROM runner_jobs AS job
    INNER JOIN runs AS run ON run.id = job.run
    WHERE job.ended_at IS NULL
    GROUP BY run.tenant
)

SELECT
    waiting.run AS "id!",
    waiting.ended AS "ended!",
    extract(EPOCH FROM now() - waiting.last_ended_at)::float8 AS seconds_since
FROM unnest($1::uuid [], $2::text []) AS profile (tenant, name)
LEFT JOIN busy ON busy.tenant = profile.tenant
CROSS JOIN LATERAL (
    SELECT candidate.run, candidate.since, before.ended, before.last_ended_at
    FROM waiting_runs AS candidate
    INNER JOIN runs AS run ON run.id = candidate.run
    CROSS JOIN LATERAL (
        SELECT count(*) AS ended, max(job.ended_at) AS last_ended_at
        FROM runner_jobs AS job
        WHERE job.run = candidate.run AND job.created_at > candidate.since AND job.ended_at IS NOT NULL
    ) AS before
    WHERE candidate.tenant = profile.tenant
        AND candidate.backend_profile = profile.name
        AND run.waiting_since < now() - $3::float8 * interval '1 second'
        AND before.ended < $4
        AND NOT EXISTS (
            SELECT 1 FROM runner_jobs AS job
            WHERE job.run = candidate.run AND job.ended_at IS NULL AND job.kind <> 'warm'
        )
    ORDER BY candidate.since
    -- With many profiles, some rows of each are enough for a round.
    LIMIT greatest($5::bigint / cardinality($1), 8)
) AS waiting
ORDER BY
    coalesce(busy.jobs, 0) + row_number() OVER (PARTITION BY profile.tenant ORDER BY waiting.since),
    waiting.since
LIMIT $5
