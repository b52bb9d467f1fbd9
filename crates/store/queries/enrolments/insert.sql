INSERT INTO enrolments (id, tenant, principal, name, profile, pool, run, hash, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(secs => $9))
RETURNING expires_at AS "expires_at: Timestamp"
