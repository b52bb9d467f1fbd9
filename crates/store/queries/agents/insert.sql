INSERT INTO agents (id, tenant, slug, is_default, manifest_version)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant, slug) DO NOTHING
RETURNING id
