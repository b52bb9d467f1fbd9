-- Only enrolments that are neither revoked nor expired.
SELECT
    enrolments.tenant,
    enrolments.principal,
    enrolments.profile,
    enrolments.run,
    enrolments.hash,
    enrolments.expires_at AS "expires_at: Timestamp",
    enrolments.last_used_at AS "last_used_at: Timestamp"
FROM enrolments
INNER JOIN principals ON principals.id = enrolments.principal
WHERE enrolments.id = $1
    AND enrolments.revoked_at IS NULL
    AND enrolments.expires_at > now()
    AND principals.disabled_at IS NULL
