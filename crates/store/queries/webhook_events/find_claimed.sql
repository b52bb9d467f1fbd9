SELECT
    event.number, event.webhook, webhooks.tenant, event.lane, event.event, event.body, event.inbox, event.seq, event.attempts
FROM webhook_events AS event
INNER JOIN webhooks ON webhooks.id = event.webhook
INNER JOIN webhook_lanes AS lane ON lane.webhook = event.webhook AND lane.lane = event.lane
WHERE event.webhook = $1 AND event.event = $2 AND lane.claim = $3 AND event.state = 'waiting'
