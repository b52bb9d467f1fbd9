-- A login that is neither revoked nor expired, of a principal that is not disabled.
SELECT
    aid_login.aid,
    login.principal,
    login.expires_at AS "expires_at: Timestamp",
    EXISTS (SELECT FROM agent_aids AS named WHERE named.aid = aid_login.aid) AS "is_of_agent!"
FROM logins AS login
INNER JOIN aid_logins AS aid_login ON aid_login.login = login.id
INNER JOIN principals AS principal ON principal.id = login.principal
WHERE login.id = $1
    AND login.kind = 'aid'
    AND login.revoked_at IS NULL
    AND login.expires_at > now()
    AND principal.disabled_at IS NULL
