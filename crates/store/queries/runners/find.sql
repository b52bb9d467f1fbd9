SELECT id, tenant, name, backend_profiles FROM runners WHERE id = $1
