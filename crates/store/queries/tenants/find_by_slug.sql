SELECT id FROM tenants WHERE slug = $1
