UPDATE agent_inboxes SET senders = $2 WHERE agent = $1 RETURNING aid, senders
