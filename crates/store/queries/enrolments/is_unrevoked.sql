-- Whether runs that were claimed under an enrolment may go on. Its expiry ends claiming, not what was claimed.
SELECT EXISTS (
    SELECT FROM enrolments
    INNER JOIN principals ON principals.id = enrolments.principal
    WHERE enrolments.principal = $1
        AND enrolments.tenant = $2
        AND enrolments.revoked_at IS NULL
        AND principals.disabled_at IS NULL
) AS "exists!"
