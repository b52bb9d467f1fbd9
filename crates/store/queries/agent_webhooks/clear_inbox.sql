-- Ends the reading of the inbox that an agent had. What the agent has next is read from then on.
UPDATE agent_webhooks SET inbox = NULL, read_to = 0 WHERE agent = $1
