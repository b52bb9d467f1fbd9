-- If $7, the head of the run moves to the epoch of the lease: the caller has locked it, and writes under the old epoch are refused
-- from the commit on.
-- The attempt is the one of the runner job that started the runner; $6 where no job did. A renewal keeps it. No row if the
-- runner must not claim any more: it is draining, or its enrolment was revoked or has expired.
WITH moved AS (
    UPDATE journal_heads SET epoch = $3 WHERE $7 AND journal = $8 AND owner = $1
)

INSERT INTO leases (run, runner, epoch, hold_ms, expires_at, attempt)
SELECT
    $1, runner.id, $3, $4, now() + $4::integer * interval '1 millisecond',
    coalesce(
        (SELECT job.attempt FROM runner_jobs AS job WHERE job.enrolment = $5 AND job.ended_at IS NULL LIMIT 1),
        $6
    )
FROM runners AS runner
INNER JOIN enrolments AS enrolment ON enrolment.id = runner.enrolment
INNER JOIN principals AS principal ON principal.id = enrolment.principal
WHERE runner.id = $2
    AND runner.enrolment = $5
    AND runner.draining_at IS NULL
    AND enrolment.revoked_at IS NULL
    AND enrolment.expires_at > now()
    AND principal.disabled_at IS NULL
ON CONFLICT (run) DO UPDATE
    SET
        runner = excluded.runner, epoch = excluded.epoch, hold_ms = excluded.hold_ms,
        expires_at = excluded.expires_at,
        attempt = CASE
            WHEN leases.epoch = excluded.epoch THEN coalesce(leases.attempt, excluded.attempt)
            ELSE excluded.attempt
        END
RETURNING
    expires_at AS "expires_at: Timestamp",
    attempt AS "attempt!",
    (
        SELECT project.setup
        FROM runs AS run
        INNER JOIN projects AS project ON project.tenant = run.tenant AND project.slug = run.project
        WHERE run.id = leases.run
    ) AS "setup?",
    (
        SELECT revision.settings::json ->> 'instructions'
        FROM runs AS run
        INNER JOIN agent_revisions AS revision
            ON revision.agent = run.agent AND revision.revision = run.agent_revision
        WHERE run.id = leases.run
    ) AS "instructions?"
