-- When a webhook read its inbox last. Those that waited longest read first.
ALTER TABLE agent_webhooks ADD COLUMN read_at timestamptz;

-- Webhooks that were deleted and whose events are not, yet. A log may have millions of attempts, too many for the statement that
-- deletes the webhook: they go in batches.
CREATE TABLE deleted_webhooks (
    webhook uuid PRIMARY KEY,
    deleted_at timestamptz NOT NULL DEFAULT now()
);

-- An event is inserted under a lock of its webhook, so none appears after the webhook has gone.
ALTER TABLE webhook_events DROP CONSTRAINT webhook_events_webhook_fkey;
