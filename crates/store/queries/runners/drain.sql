UPDATE runners SET draining_at = now() WHERE id = $1 AND tenant = $2 AND draining_at IS NULL
