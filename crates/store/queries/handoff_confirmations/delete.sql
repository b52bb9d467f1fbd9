-- Of two concurrent confirmations of one sign-in, one gets the row.
DELETE FROM handoff_confirmations
WHERE id = $1 AND browser_hash = $2
RETURNING id
