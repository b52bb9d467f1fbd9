DELETE FROM agent_answers WHERE command = $1
