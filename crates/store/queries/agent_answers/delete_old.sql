DELETE FROM agent_answers WHERE created_at < $1
