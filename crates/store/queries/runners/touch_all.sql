-- Runners that ask for runs, each with its valid enrolment. Records that they asked, but not each time: runners ask every
-- few seconds. Rows that another replica writes are skipped.
WITH asked AS (
    UPDATE runners SET seen_at = now()
    WHERE id IN (
        SELECT runner.id FROM runners AS runner
        WHERE runner.id = ANY ($1) AND runner.seen_at < now() - interval '10 seconds'
        FOR UPDATE SKIP LOCKED
    )
    RETURNING enrolment
),

used AS (
    UPDATE enrolments SET last_used_at = now()
    WHERE id IN (
        SELECT enrolment.id FROM enrolments AS enrolment
        WHERE enrolment.id IN (SELECT asked.enrolment FROM asked)
            AND (enrolment.last_used_at IS NULL OR enrolment.last_used_at < now() - interval '1 minute')
        FOR UPDATE SKIP LOCKED
    )
)

SELECT
    runner.id,
    runner.tenant,
    runner.enrolment,
    runner.name,
    runner.backend_profiles,
    runner.draining_at IS NOT NULL AS "is_draining!",
    enrolment.tenant AS enrolment_tenant,
    enrolment.principal,
    enrolment.profile,
    enrolment.run,
    enrolment.hash,
    enrolment.expires_at AS "expires_at: Timestamp",
    enrolment.last_used_at AS "last_used_at: Timestamp"
FROM runners AS runner
INNER JOIN enrolments AS enrolment ON enrolment.id = runner.enrolment
INNER JOIN principals AS principal ON principal.id = enrolment.principal
WHERE runner.id = ANY ($1)
    AND enrolment.revoked_at IS NULL
    AND enrolment.expires_at > now()
    AND principal.disabled_at IS NULL
