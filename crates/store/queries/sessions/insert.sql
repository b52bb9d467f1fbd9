INSERT INTO sessions (id, tenant, project, backend_profile, created_by, expires_at)
VALUES ($1, $2, $3, $4, $5, now() + $6::double precision * interval '1 millisecond')
