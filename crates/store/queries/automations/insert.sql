INSERT INTO automations (id, tenant, agent, slug, name, settings, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant, slug) DO NOTHING
RETURNING id
