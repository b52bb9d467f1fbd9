INSERT INTO threads (agent, owner, thread, session) VALUES ($1, $2, $3, $4)
ON CONFLICT (agent, owner, thread) DO NOTHING
RETURNING session
