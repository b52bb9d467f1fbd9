-- The manifest of the agent does not change until the end of the transaction.
SELECT id FROM agents WHERE id = $1 FOR SHARE
