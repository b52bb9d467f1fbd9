UPDATE passwords SET hash = $2, failures = '{}' WHERE name = $1
