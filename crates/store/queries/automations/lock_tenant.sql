-- One change of the automations of a tenant at a time.
SELECT (SELECT count(*) FROM automations WHERE automations.tenant = tenants.id) AS "count!"
FROM tenants
WHERE tenants.id = $1
FOR NO KEY UPDATE OF tenants
