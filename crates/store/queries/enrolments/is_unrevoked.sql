-- An expired enrolment cannot claim new runs, but its claimed runs may continue. An enrolment of the shared pool
-- is valid only for the run that it claimed, whatever the token says.
SELECT EXISTS (
    SELECT FROM runners AS runner
    INNER JOIN enrolments AS enrolment ON enrolment.id = runner.enrolment
    INNER JOIN principals AS principal ON principal.id = enrolment.principal
    WHERE runner.id = $1
        AND (enrolment.tenant = $2 OR (enrolment.tenant IS NULL AND enrolment.run = $3))
        AND enrolment.revoked_at IS NULL
        AND principal.disabled_at IS NULL
) AS "exists!"
