UPDATE principals SET disabled_at = NULL WHERE id = $1
