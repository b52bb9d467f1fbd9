SELECT agent FROM agent_inboxes WHERE aid = $1
