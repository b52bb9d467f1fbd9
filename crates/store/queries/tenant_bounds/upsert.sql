INSERT INTO tenant_bounds (tenant, restrictions, updated_by) VALUES ($1, $2, $3)
ON CONFLICT (tenant) DO UPDATE
SET restrictions = excluded.restrictions, updated_by = excluded.updated_by, updated_at = now()
