SELECT EXISTS (SELECT FROM agent_inboxes WHERE inbox = $1) AS "is_hosted!"
