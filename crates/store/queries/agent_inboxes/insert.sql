INSERT INTO agent_inboxes (agent, inbox, aid, senders)
SELECT $1, id, aid, $3 FROM inboxes WHERE aid = $2
ON CONFLICT (agent) DO NOTHING
