-- $9 is the runner job that the enrolment is for. Its process uses it at once.
WITH job AS (
    UPDATE runner_jobs SET enrolment = $1 WHERE id = $9 AND phase = 'launching'
)

INSERT INTO enrolments (id, tenant, principal, name, profile, run, hash, expires_at, last_used_at)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8),
    CASE WHEN $9::uuid IS NOT NULL THEN now() END
)
RETURNING expires_at AS "expires_at: Timestamp"
