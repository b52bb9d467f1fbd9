UPDATE passwords SET failures = $2 WHERE name = $1
