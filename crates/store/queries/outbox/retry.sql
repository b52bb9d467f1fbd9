UPDATE outbox SET claim = NULL, last_error = $3, next_attempt_at = now() + make_interval(secs => $4)
WHERE id = $1 AND claim = $2
