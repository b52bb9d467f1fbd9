DELETE FROM outbox WHERE id = $1 AND claim = $2
