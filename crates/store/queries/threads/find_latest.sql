-- The conversation that an owner has used last, with any agent of a tenant or with one of them.
SELECT thread.thread, thread.session
FROM threads AS thread
INNER JOIN agents AS agent ON agent.id = thread.agent
WHERE thread.owner = $1 AND agent.tenant = $2 AND ($3::uuid IS NULL OR agent.id = $3)
ORDER BY thread.used_at DESC
LIMIT 1
