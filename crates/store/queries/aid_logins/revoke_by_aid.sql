UPDATE logins
SET revoked_at = now()
FROM aid_logins
WHERE aid_logins.aid = $1
    AND logins.id = aid_logins.login
    AND logins.revoked_at IS NULL
    AND logins.expires_at > now()
