SELECT tenants.id FROM tenants WHERE tenants.id = $1 FOR UPDATE
