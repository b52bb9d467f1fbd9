-- Claims the lanes of a listener that are due.
WITH due AS MATERIALIZED (
    SELECT webhook, lane
    FROM webhook_lanes
    WHERE webhook = $1 AND is_listener AND next_attempt_at <= now()
    ORDER BY next_attempt_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)

UPDATE webhook_lanes AS claimed
SET claim = $3, next_attempt_at = now() + make_interval(secs => $4)
FROM due
WHERE claimed.webhook = due.webhook AND claimed.lane = due.lane
RETURNING claimed.webhook, claimed.lane
