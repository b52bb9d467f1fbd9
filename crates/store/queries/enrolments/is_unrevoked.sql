-- Whether what was claimed under an enrolment may go on. Its expiry ends claiming, not what was claimed. One of the pool
-- is for the one run that it claimed, whatever else a token says.
SELECT EXISTS (
    SELECT FROM enrolments
    INNER JOIN principals ON principals.id = enrolments.principal
    WHERE enrolments.principal = $1
        AND (enrolments.tenant = $2 OR (enrolments.tenant IS NULL AND enrolments.run = $3))
        AND enrolments.revoked_at IS NULL
        AND principals.disabled_at IS NULL
) AS "exists!"
