-- Serialises the creation of webhooks, so that their number is counted exactly. Other rows may refer to the tenant
-- meanwhile.
SELECT tenants.id FROM tenants WHERE tenants.id = $1 FOR NO KEY UPDATE
