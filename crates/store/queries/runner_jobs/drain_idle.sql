-- Lets idle runners of a launcher release their runs, longest idle first, because other runs wait for their places. Those
-- that are draining already are counted.
UPDATE runners SET draining_at = now()
WHERE id IN (
    SELECT runner.id
    FROM runner_jobs AS job
    INNER JOIN runners AS runner ON runner.enrolment = job.enrolment
    INNER JOIN leases AS lease ON lease.runner = runner.id
    WHERE job.place = $1
        AND job.phase = 'running'
        AND job.ended_at IS NULL
        AND runner.draining_at IS NULL
        AND NOT EXISTS (
            SELECT FROM commands AS command
            WHERE command.run = lease.run AND command.state IN ('pending', 'running')
        )
    ORDER BY (SELECT max(command.ended_at) FROM commands AS command WHERE command.run = lease.run)
    LIMIT greatest(
        $2 - (
            SELECT count(*)
            FROM runner_jobs AS job
            INNER JOIN runners AS runner ON runner.enrolment = job.enrolment
            WHERE job.place = $1 AND job.ended_at IS NULL AND runner.draining_at IS NOT NULL
        ),
        0
    )
    FOR UPDATE OF runner SKIP LOCKED
)
