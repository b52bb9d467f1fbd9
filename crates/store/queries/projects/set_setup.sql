UPDATE projects SET setup = $3
WHERE tenant = $1 AND id = $2 AND setup IS DISTINCT FROM $3
RETURNING id, slug, name, created_at AS "created_at: Timestamp", setup
