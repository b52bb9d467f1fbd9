-- The events of a webhook, newest first, before a number and in one of some states.
SELECT
    event.number,
    event.event,
    event.event_type,
    event.state,
    event.attempts,
    event.created_at AS "created_at: Timestamp",
    event.finished_at AS "finished_at: Timestamp",
    CASE
        WHEN lane.claim IS NULL AND NOT EXISTS (
            SELECT FROM webhook_events AS earlier
            WHERE earlier.webhook = event.webhook AND earlier.lane = event.lane
                AND earlier.state = 'waiting' AND earlier.number < event.number
        ) THEN lane.next_attempt_at
    END AS "next_attempt_at?: Timestamp"
FROM webhook_events AS event
LEFT JOIN webhook_lanes AS lane ON lane.webhook = event.webhook AND lane.lane = event.lane AND event.state = 'waiting'
WHERE event.webhook = $1 AND event.number < $2 AND event.state = ANY($3)
ORDER BY event.number DESC
LIMIT $4
