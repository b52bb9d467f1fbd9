-- Locks a webhook until the end of the transaction, without reading it.
SELECT webhooks.id FROM webhooks WHERE webhooks.tenant = $1 AND webhooks.id = $2 FOR UPDATE
