-- What authorises each of these callers now: no row for one whose principal is disabled, or whose login or service key is
-- no longer valid. The service key of an external subject is the one that vouches for it; the role is that of the key.
SELECT
    wanted.position AS "position!",
    principal.is_operator,
    membership.role AS "role?"
FROM unnest($1::uuid [], $2::uuid [], $3::uuid [], $4::uuid [])
    WITH ORDINALITY AS wanted (principal, login, service_key, tenant, position)
INNER JOIN principals AS principal ON principal.id = wanted.principal
LEFT JOIN external_subjects AS subject
    ON subject.principal = wanted.principal AND subject.tenant = wanted.tenant
LEFT JOIN service_keys AS service_key
    ON service_key.id = wanted.service_key
    AND service_key.tenant = wanted.tenant
    AND service_key.revoked_at IS NULL
    AND (service_key.principal = wanted.principal OR subject.principal IS NOT NULL)
LEFT JOIN principals AS service ON service.id = service_key.principal
LEFT JOIN memberships AS membership
    ON membership.principal = coalesce(service_key.principal, wanted.principal)
    AND membership.tenant = wanted.tenant
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
    AND (wanted.service_key IS NULL OR (service_key.id IS NOT NULL AND service.disabled_at IS NULL))
