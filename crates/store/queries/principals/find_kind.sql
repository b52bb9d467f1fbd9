SELECT kind FROM principals WHERE id = $1 AND disabled_at IS NULL
