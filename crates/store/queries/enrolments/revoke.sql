UPDATE enrolments SET revoked_at = now() WHERE tenant = $1 AND id = $2 AND revoked_at IS NULL
