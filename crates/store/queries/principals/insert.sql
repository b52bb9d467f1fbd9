INSERT INTO principals (id, kind, name, is_operator) VALUES ($1, $2, $3, $4)
