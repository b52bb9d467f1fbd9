INSERT INTO agent_inboxes (agent, inbox, aid, senders, sealed_key)
SELECT $1, id, aid, $3, $4 FROM inboxes WHERE aid = $2
ON CONFLICT (agent) DO NOTHING
