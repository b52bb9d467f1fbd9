-- Opens lanes of a webhook, and ends the pause of those that wait for their next attempt.
INSERT INTO webhook_lanes AS lane (webhook, lane, tenant, is_listener)
SELECT
    webhooks.id, new.lane, webhooks.tenant,
    EXISTS (SELECT FROM agent_webhooks WHERE webhook = $1 AND polled_at IS NOT NULL)
FROM webhooks
CROSS JOIN unnest($2::text[]) AS new (lane)
WHERE webhooks.id = $1
ORDER BY new.lane
ON CONFLICT (webhook, lane) DO UPDATE
SET next_attempt_at = CASE WHEN lane.claim IS NULL THEN now() ELSE lane.next_attempt_at END
