INSERT INTO agent_answers (command, agent, recipient, message_id, message_kind) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (command) DO NOTHING
