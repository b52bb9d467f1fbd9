-- One change of the agents of a tenant at a time: the default moves from one to another.
SELECT (SELECT count(*) FROM agents WHERE agents.tenant = tenants.id) AS "count!"
FROM tenants
WHERE tenants.id = $1
FOR NO KEY UPDATE OF tenants
