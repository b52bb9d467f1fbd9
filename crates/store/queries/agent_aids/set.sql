INSERT INTO agent_aids (agent, aid, created_by)
SELECT $1, $2, $3
WHERE NOT EXISTS (SELECT FROM agent_inboxes WHERE agent = $1 OR aid = $2)
    AND NOT EXISTS (SELECT FROM agent_aids WHERE aid = $2 AND agent <> $1)
ON CONFLICT (agent) DO UPDATE SET aid = excluded.aid, created_by = excluded.created_by, created_at = now()
