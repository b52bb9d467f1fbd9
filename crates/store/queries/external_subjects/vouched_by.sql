-- All that decides on an external subject: that it is one of this tenant, and the role that the service key which vouches
-- for it has there now. No row when the key was revoked, the key or the subject disabled, or the key's role taken away.
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
