UPDATE agents
SET enabled = $2, is_default = $3, revision = $4, manifest_version = $5, published = $6, updated_at = now()
WHERE id = $1
