UPDATE agent_webhooks SET read_to = $2, read_at = clock_timestamp() WHERE webhook = $1
