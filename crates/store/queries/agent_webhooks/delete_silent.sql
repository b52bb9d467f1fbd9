-- Deletes listeners whose program has not asked for long. Their cursors are locked first, as by whoever reads messages for them, and
-- their lanes go before their events; cursors that are locked wait for the next round.
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
)

DELETE FROM webhooks
WHERE id IN (SELECT webhook FROM silent)
