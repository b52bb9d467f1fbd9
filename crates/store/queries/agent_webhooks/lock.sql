-- Locks the cursor of a webhook until the end of the transaction.
SELECT webhook FROM agent_webhooks WHERE webhook = $1 FOR UPDATE
