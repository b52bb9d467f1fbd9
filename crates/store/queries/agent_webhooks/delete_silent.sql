-- Deletes listeners whose program has not asked for long. Their cursors are locked first, as by whoever reads messages for them, and
-- their lanes go before the webhooks; cursors that are locked wait for the next round. Their events are deleted later.
WITH silent AS MATERIALIZED (
    SELECT webhook
    FROM agent_webhooks
    WHERE polled_at < $1
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),

closed AS (
    DELETE FROM webhook_lanes
    WHERE webhook IN (SELECT webhook FROM silent)
),

noted AS (
    INSERT INTO deleted_webhooks (webhook) SELECT webhook FROM silent
    ON CONFLICT (webhook) DO NOTHING
)

DELETE FROM webhooks
WHERE id IN (SELECT webhook FROM silent)
