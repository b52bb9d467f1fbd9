UPDATE principals SET name = $2 WHERE id = $1
