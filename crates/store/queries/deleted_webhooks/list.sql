SELECT webhook FROM deleted_webhooks ORDER BY deleted_at LIMIT $1
