SELECT id FROM projects WHERE tenant = $1 AND slug = $2
