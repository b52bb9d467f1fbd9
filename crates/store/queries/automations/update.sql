UPDATE automations SET name = $2, enabled = $3, revision = $4, settings = $5, updated_at = now() WHERE id = $1
