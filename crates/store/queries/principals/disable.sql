UPDATE principals SET disabled_at = now() WHERE id = $1
