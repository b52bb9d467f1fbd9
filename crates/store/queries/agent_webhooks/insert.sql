INSERT INTO agent_webhooks (webhook, agent, polled_at) VALUES ($1, $2, CASE WHEN $3 THEN now() END)
