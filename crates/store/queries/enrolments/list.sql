-- Enrolments created by users. Those that a launcher creates are bound to a run and appear in `runner_jobs`.
SELECT
    id,
    name,
    profile,
    created_at AS "created_at: Timestamp",
    expires_at AS "expires_at: Timestamp",
    last_used_at AS "last_used_at: Timestamp",
    revoked_at AS "revoked_at: Timestamp"
FROM enrolments
WHERE tenant = $1 AND run IS NULL
ORDER BY id DESC
LIMIT $2
