-- The owner of an AID, if a member of the tenant $2.
SELECT aids.principal
FROM aids
JOIN memberships ON memberships.principal = aids.principal AND memberships.tenant = $2
WHERE aids.aid = $1
