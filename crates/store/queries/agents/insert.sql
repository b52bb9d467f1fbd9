INSERT INTO agents (id, tenant, slug, is_default)
VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant, slug) DO NOTHING
RETURNING id
