SELECT tenants.id FROM tenants WHERE tenants.id = $1 FOR NO KEY UPDATE
