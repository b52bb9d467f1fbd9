DELETE FROM webhook_events
WHERE number IN (SELECT number FROM webhook_events WHERE created_at < $1 ORDER BY created_at LIMIT $2)
