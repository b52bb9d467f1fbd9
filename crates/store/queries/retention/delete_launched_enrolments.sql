-- Those of users stay: they are listed, and few.
WITH old AS (
    SELECT enrolment.id FROM enrolments AS enrolment
    WHERE enrolment.id > $1
        AND enrolment.id < journal_run_bound($2)
        AND enrolment.principal = $4
        AND least(enrolment.revoked_at, enrolment.expires_at) < $2
        AND NOT EXISTS (
            SELECT FROM runners AS runner
            INNER JOIN leases AS lease ON lease.runner = runner.id
            WHERE runner.enrolment = enrolment.id
        )
    ORDER BY enrolment.id
    LIMIT $3
)
DELETE FROM enrolments USING old WHERE enrolments.id = old.id
RETURNING old.id AS "id!"
