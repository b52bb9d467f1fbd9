SELECT inbox FROM agent_inboxes ORDER BY inbox LIMIT $1
