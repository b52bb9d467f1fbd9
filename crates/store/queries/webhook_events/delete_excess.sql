-- Deletes the oldest events of webhooks that have more than $1.
DELETE FROM webhook_events
WHERE number IN (
    SELECT old.number
    FROM webhooks
    CROSS JOIN LATERAL (
        SELECT last.number
        FROM webhook_events AS last
        WHERE last.webhook = webhooks.id
        ORDER BY last.number DESC
        OFFSET $1
        LIMIT 1
    ) AS bound
    CROSS JOIN LATERAL (
        SELECT event.number
        FROM webhook_events AS event
        WHERE event.webhook = webhooks.id AND event.number <= bound.number
        ORDER BY event.number
        LIMIT $2
    ) AS old
    LIMIT $2
)
