SELECT id, name FROM principals WHERE id = ANY($1) LIMIT 1000
