SELECT id, slug, name FROM tenants WHERE id = $1
