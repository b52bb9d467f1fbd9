-- What authorises each of these callers now: no row for one whose principal is disabled, or whose login or service key is
-- no longer valid.
SELECT
    wanted.position AS "position!",
    principal.is_operator,
    membership.role AS "role?"
FROM unnest($1::uuid [], $2::uuid [], $3::uuid [], $4::uuid [])
    WITH ORDINALITY AS wanted (principal, login, service_key, tenant, position)
INNER JOIN principals AS principal ON principal.id = wanted.principal
LEFT JOIN memberships AS membership
    ON membership.principal = wanted.principal AND membership.tenant = wanted.tenant
WHERE principal.disabled_at IS NULL
    AND (
        wanted.login IS NULL
        OR EXISTS (
            SELECT FROM logins
            WHERE logins.id = wanted.login
                AND logins.principal = wanted.principal
                AND logins.revoked_at IS NULL
                AND logins.expires_at > now()
        )
    )
    AND (
        wanted.service_key IS NULL
        OR EXISTS (
            SELECT FROM service_keys
            WHERE service_keys.id = wanted.service_key
                AND service_keys.principal = wanted.principal
                AND service_keys.tenant = wanted.tenant
                AND service_keys.revoked_at IS NULL
        )
    )
