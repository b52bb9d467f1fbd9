SELECT
    (SELECT count(*) FROM runner_jobs WHERE id < journal_run_bound($1) AND ended_at < $1) AS "jobs!",
    (
        SELECT count(*) FROM enrolments
        WHERE id < journal_run_bound($1) AND principal = $2 AND least(revoked_at, expires_at) < $1
    ) AS "enrolments!",
    (
        SELECT count(*) FROM runners AS runner
        WHERE runner.id < journal_run_bound($1) AND runner.seen_at < $1
            AND NOT EXISTS (SELECT FROM leases AS lease WHERE lease.runner = runner.id)
            AND NOT EXISTS (
                SELECT FROM enrolments AS enrolment
                WHERE enrolment.id = runner.enrolment AND enrolment.revoked_at IS NULL AND enrolment.expires_at > $1
            )
    ) AS "runners!",
    (
        SELECT count(*) FROM logins WHERE id < journal_run_bound($1) AND least(revoked_at, expires_at) < $1
    ) AS "logins!"
