-- Deletes a webhook. Its events are deleted later, in batches.
WITH deleted AS (
    DELETE FROM webhooks WHERE tenant = $1 AND id = $2 RETURNING id
)

INSERT INTO deleted_webhooks (webhook) SELECT id FROM deleted
