UPDATE outbox SET claim = NULL, last_error = $3, dead_at = now() WHERE id = $1 AND claim = $2
