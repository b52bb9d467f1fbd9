-- Not if it was changed meanwhile.
UPDATE agent_inboxes SET sealed_key = '' WHERE agent = $1 AND sealed_key = $2
