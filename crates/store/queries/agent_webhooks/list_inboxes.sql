SELECT DISTINCT inbox AS "inbox!" FROM agent_webhooks WHERE inbox IS NOT NULL ORDER BY inbox LIMIT $1
