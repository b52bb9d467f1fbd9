-- Claims jobs to launch, oldest first: pending ones, and those that a killed server had started to launch.
UPDATE runner_jobs
SET phase = 'launching', place = $1, tries = tries + 1, tried_at = now(), seen_at = now()
WHERE id IN (
    SELECT id FROM runner_jobs
    WHERE ended_at IS NULL
        AND launcher = $2
        AND (place IS NULL OR place = $1)
        AND (phase = 'pending' OR (phase = 'launching' AND tried_at < now() - interval '10 seconds'))
    ORDER BY created_at
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
RETURNING id, attempt, kind, profile, run, command, enrolment, tries
