-- Gives a claimed lane back for its next event, or closes it after the last one.
WITH closed AS (
    DELETE FROM webhook_lanes AS lane
    WHERE lane.webhook = $1 AND lane.lane = $2
        AND NOT EXISTS (
            SELECT FROM webhook_events AS event
            WHERE event.webhook = $1 AND event.lane = $2 AND event.state = 'waiting'
        )
    RETURNING lane.webhook
)

UPDATE webhook_lanes SET claim = NULL, next_attempt_at = now()
WHERE webhook = $1 AND lane = $2 AND NOT EXISTS (SELECT FROM closed)
