INSERT INTO projects (id, tenant, slug, name) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant, slug) DO NOTHING
RETURNING created_at AS "created_at: Timestamp"
