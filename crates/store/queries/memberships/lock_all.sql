SELECT
    memberships.principal,
    principals.name,
    memberships.role
FROM memberships
INNER JOIN principals ON principals.id = memberships.principal
WHERE memberships.tenant = $1
ORDER BY memberships.principal
LIMIT $2
FOR UPDATE OF memberships
