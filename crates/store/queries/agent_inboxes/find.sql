SELECT aid, senders FROM agent_inboxes WHERE agent = $1
