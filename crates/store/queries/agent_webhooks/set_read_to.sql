UPDATE agent_webhooks SET read_to = $2 WHERE webhook = $1
