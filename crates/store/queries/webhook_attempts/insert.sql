INSERT INTO webhook_attempts (event, attempt, status, duration_ms, error)
SELECT event.number, $2, $3, $4, $5 FROM webhook_events AS event WHERE event.number = $1
