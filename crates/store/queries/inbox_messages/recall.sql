-- Removes the content of a message. Its seq stays. Returns no row if it was recalled before.
UPDATE inbox_messages SET payload = NULL, recalled_at = $3
WHERE inbox = $1 AND seq = $2 AND recalled_at IS NULL AND expires_at > now()
