-- The oldest events of a webhook after a number that are to be sent again: one, or those of a window in one of some states.
SELECT event.number, event.lane
FROM webhook_events AS event
WHERE event.webhook = $1
    AND event.number > $2
    AND ($3::uuid IS NULL OR event.event = $3)
    AND event.created_at >= $4
    AND event.created_at < $5
    AND event.state = ANY($6)
ORDER BY event.number
LIMIT $7
