-- What authorises each of these callers now: no row for one whose principal is disabled, or whose login or service key is
-- no longer valid. The service key of an external subject is the one that vouches for it; the role is that of the key.
SELECT
    wanted.position AS "position!",
    found.is_operator,
    found.role AS "role?"
FROM unnest($1::uuid [], $2::uuid [], $3::uuid [], $4::uuid [])
    WITH ORDINALITY AS wanted (principal, login, service_key, tenant, position)
CROSS JOIN LATERAL (
    SELECT principal.is_operator, membership.role
    FROM principals AS principal
    LEFT JOIN logins AS login
        ON login.id = wanted.login
        AND login.principal = principal.id
        AND login.revoked_at IS NULL
        AND login.expires_at > now()
    LEFT JOIN external_subjects AS subject
        ON subject.principal = principal.id AND subject.tenant = wanted.tenant
    LEFT JOIN service_keys AS service_key
        ON service_key.id = wanted.service_key
        AND service_key.tenant = wanted.tenant
        AND service_key.revoked_at IS NULL
        AND (service_key.principal = principal.id OR subject.principal IS NOT NULL)
    LEFT JOIN principals AS service ON service.id = service_key.principal
    LEFT JOIN memberships AS membership
        ON membership.principal = coalesce(service_key.principal, principal.id)
        AND membership.tenant = wanted.tenant
    WHERE principal.id = wanted.principal
        AND principal.disabled_at IS NULL
        AND (wanted.login IS NULL OR login.id IS NOT NULL)
        AND (wanted.service_key IS NULL OR (service_key.id IS NOT NULL AND service.disabled_at IS NULL))
    -- So that it is planned for one caller: each table is read by its key, also before PostgreSQL has statistics.
    LIMIT 1
) AS found
