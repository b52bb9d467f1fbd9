SELECT
    principal,
    current_hash,
    expires_at AS "expires_at: Timestamp"
FROM logins
WHERE id = $1 AND kind = 'browser' AND revoked_at IS NULL AND expires_at > now()
