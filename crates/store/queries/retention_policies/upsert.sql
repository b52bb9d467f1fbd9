INSERT INTO retention_policies (tenant, history_days, updated_by) VALUES ($1, $2, $3)
ON CONFLICT (tenant) DO UPDATE
SET history_days = excluded.history_days, updated_by = excluded.updated_by, updated_at = now()
