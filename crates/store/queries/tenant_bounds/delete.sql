DELETE FROM tenant_bounds WHERE tenant = $1
