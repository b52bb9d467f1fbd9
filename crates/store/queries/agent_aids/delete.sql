DELETE FROM agent_aids WHERE agent = $1 RETURNING aid
