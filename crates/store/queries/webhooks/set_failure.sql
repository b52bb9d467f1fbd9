-- Returns since when every attempt has failed.
UPDATE webhooks
SET
    last_failure_at = now(),
    last_failure_event = $3,
    last_failure_attempt = $4,
    last_failure_message = $5,
    last_failure_is_final = $6,
    failing_since = coalesce(failing_since, now())
WHERE tenant = $1 AND id = $2
RETURNING failing_since AS "failing_since!: Timestamp", now() AS "now!: Timestamp"
