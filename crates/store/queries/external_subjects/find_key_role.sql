-- The role of the service key that vouches for an external subject. No row if the subject is not of this tenant, the
-- key is revoked, the key or the subject is disabled, or the key has no role.
SELECT memberships.role
FROM external_subjects
INNER JOIN principals AS subject ON subject.id = external_subjects.principal
INNER JOIN service_keys ON service_keys.tenant = external_subjects.tenant
INNER JOIN principals AS service ON service.id = service_keys.principal
INNER JOIN memberships
    ON memberships.tenant = service_keys.tenant AND memberships.principal = service_keys.principal
WHERE external_subjects.principal = $1
    AND external_subjects.tenant = $2
    AND service_keys.id = $3
    AND service_keys.revoked_at IS NULL
    AND subject.disabled_at IS NULL
    AND service.disabled_at IS NULL
