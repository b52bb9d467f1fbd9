-- Begins an attempt with the first waiting event of each claimed lane. A statement of its own, after the lanes are locked: it sees what
-- the worker before has finished.
UPDATE webhook_events AS event
SET attempts = event.attempts + 1
FROM unnest($1::uuid[], $2::text[]) AS claimed (webhook, lane)
CROSS JOIN LATERAL (
    SELECT waiting.number
    FROM webhook_events AS waiting
    WHERE waiting.webhook = claimed.webhook AND waiting.lane = claimed.lane AND waiting.state = 'waiting'
    ORDER BY waiting.number
    LIMIT 1
) AS head
INNER JOIN webhooks ON webhooks.id = claimed.webhook
WHERE event.number = head.number AND event.state = 'waiting'
RETURNING
    event.number, event.webhook, webhooks.tenant, event.lane, event.event, event.body, event.inbox, event.seq, event.attempts
