UPDATE logins
SET revoked_at = now()
WHERE principal = $1 AND id IS DISTINCT FROM $2 AND revoked_at IS NULL AND expires_at > now()
