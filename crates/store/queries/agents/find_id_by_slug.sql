SELECT id FROM agents WHERE tenant = $1 AND slug = $2
