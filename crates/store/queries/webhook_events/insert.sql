-- Inserts events of one webhook in the given order, and opens their lanes. Nothing is inserted for a webhook that was deleted; those of
-- a disabled one are missed. The lock of a lane keeps whoever finishes its last event from closing it meanwhile. Returns the number of
-- events that wait.
WITH known AS MATERIALIZED (
    SELECT
        webhooks.id,
        webhooks.tenant,
        webhooks.disabled_at IS NOT NULL AS is_disabled,
        EXISTS (SELECT FROM agent_webhooks WHERE webhook = $1 AND polled_at IS NOT NULL) AS is_listener
    FROM webhooks
    WHERE webhooks.id = $1
    FOR KEY SHARE OF webhooks
),

inserted AS (
    INSERT INTO webhook_events (webhook, event, event_type, lane, body, inbox, seq, state, finished_at)
    SELECT
        known.id, new.event, new.event_type, new.lane, new.body, new.inbox, new.seq,
        CASE WHEN known.is_disabled THEN 'missed' ELSE 'waiting' END,
        CASE WHEN known.is_disabled THEN now() END
    FROM known
    CROSS JOIN unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
    WITH ORDINALITY AS new (event, event_type, lane, body, inbox, seq, place)
    ORDER BY new.place
    ON CONFLICT (webhook, event) DO NOTHING
    RETURNING lane, state
),

opened AS (
    INSERT INTO webhook_lanes (webhook, lane, tenant, is_listener)
    SELECT known.id, waiting.lane, known.tenant, known.is_listener
    FROM known
    CROSS JOIN (SELECT DISTINCT lane FROM inserted WHERE state = 'waiting') AS waiting
    ORDER BY waiting.lane
    ON CONFLICT (webhook, lane) DO UPDATE SET tenant = excluded.tenant
)

SELECT count(*) AS "waiting!" FROM inserted WHERE state = 'waiting'
