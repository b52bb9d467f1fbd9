SELECT id, slug, name, created_at AS "created_at: Timestamp", setup
FROM projects
WHERE tenant = $1 AND slug = $2
