-- Gives the messages that no instance has got to the first one that asks.
UPDATE ring_messages SET device = $2, slot = $3 WHERE inbox = $1 AND device IS NULL
