-- Marks effects as dead whose last worker never reported back: the effect itself may crash the workers.
UPDATE outbox SET claim = NULL, dead_at = now(), last_error = coalesce(last_error, 'the last worker did not come back')
WHERE kind = $1 AND dead_at IS NULL AND attempts >= $2 AND next_attempt_at <= now()
