DELETE FROM deleted_webhooks WHERE webhook = $1
