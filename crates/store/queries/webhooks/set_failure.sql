UPDATE webhooks
SET
    last_failure_at = now(),
    last_failure_event = $3,
    last_failure_attempt = $4,
    last_failure_message = $5,
    last_failure_is_final = $6
WHERE tenant = $1 AND id = $2
