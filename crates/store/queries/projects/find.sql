SELECT slug, name, created_at AS "created_at: Timestamp" FROM projects WHERE tenant = $1 AND id = $2
