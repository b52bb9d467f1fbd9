-- Deletes the oldest events of a webhook that was deleted, with their attempts.
DELETE FROM webhook_events
WHERE number IN (SELECT number FROM webhook_events WHERE webhook = $1 ORDER BY number LIMIT $2)
