-- An expired enrolment cannot claim new runs, but its claimed runs may continue. An enrolment of the shared pool
-- is valid only for the run that it claimed, whatever the token says.
SELECT EXISTS (
    SELECT FROM enrolments
    INNER JOIN principals ON principals.id = enrolments.principal
    WHERE enrolments.principal = $1
        AND (enrolments.tenant = $2 OR (enrolments.tenant IS NULL AND enrolments.run = $3))
        AND enrolments.revoked_at IS NULL
        AND principals.disabled_at IS NULL
) AS "exists!"
