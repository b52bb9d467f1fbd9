-- Gives a claimed lane back for its next attempt.
UPDATE webhook_lanes SET claim = NULL, next_attempt_at = now() + make_interval(secs => $3)
WHERE webhook = $1 AND lane = $2
