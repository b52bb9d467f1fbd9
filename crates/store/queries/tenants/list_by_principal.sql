SELECT tenants.id, tenants.slug, tenants.name, memberships.role
FROM memberships
INNER JOIN tenants ON tenants.id = memberships.tenant
WHERE memberships.principal = $1
ORDER BY tenants.slug
LIMIT $2
