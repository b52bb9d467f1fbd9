UPDATE agent_webhooks SET polled_at = now() WHERE webhook = $1 AND polled_at IS NOT NULL
