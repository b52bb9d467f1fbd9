SELECT memberships.role
FROM memberships
INNER JOIN principals ON principals.id = memberships.principal
WHERE memberships.tenant = $1 AND memberships.principal = $2 AND principals.disabled_at IS NULL
FOR UPDATE OF memberships
