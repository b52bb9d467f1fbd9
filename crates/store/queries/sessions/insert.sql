INSERT INTO sessions (id, tenant, project, backend_profile, created_by) VALUES ($1, $2, $3, $4, $5)
