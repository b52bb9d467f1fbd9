INSERT INTO enrolments (id, tenant, principal, name, profile, run, hash, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8))
RETURNING expires_at AS "expires_at: Timestamp"
