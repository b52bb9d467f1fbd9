SELECT aid FROM agent_aids WHERE agent = $1
