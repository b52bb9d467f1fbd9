-- Only runners whose enrolment is over: others may come back after a long pause.
WITH old AS (
    SELECT runner.id FROM runners AS runner
    WHERE runner.id > $1
        AND runner.id < journal_run_bound($2)
        AND runner.seen_at < $2
        AND NOT EXISTS (SELECT FROM leases AS lease WHERE lease.runner = runner.id)
        AND NOT EXISTS (
            SELECT FROM enrolments AS enrolment
            WHERE enrolment.id = runner.enrolment AND enrolment.revoked_at IS NULL AND enrolment.expires_at > $2
        )
    ORDER BY runner.id
    LIMIT $3
    FOR UPDATE OF runner SKIP LOCKED
)
DELETE FROM runners USING old WHERE runners.id = old.id
RETURNING old.id AS "id!"
