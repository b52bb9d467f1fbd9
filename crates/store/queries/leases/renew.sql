-- Renews a lease, unless the enrolment of its runner was revoked (see enrolments/is_unrevoked.sql). It must be on the disk before the
-- answer: the runner counts from it when it has to stop its agent.
UPDATE leases AS lease
SET expires_at = now() + hold_ms * interval '1 millisecond'
FROM runners AS runner
INNER JOIN enrolments AS enrolment ON enrolment.id = runner.enrolment
INNER JOIN principals AS principal ON principal.id = enrolment.principal
WHERE lease.run = $1
    AND lease.epoch = $2
    AND runner.id = $3
    AND (enrolment.tenant = $4 OR (enrolment.tenant IS NULL AND enrolment.run = $1))
    AND enrolment.revoked_at IS NULL
    AND principal.disabled_at IS NULL
RETURNING lease.expires_at AS "expires_at: Timestamp"
