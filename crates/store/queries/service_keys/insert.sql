INSERT INTO service_keys (id, tenant, principal, name, hash) VALUES ($1, $2, $3, $4, $5)
