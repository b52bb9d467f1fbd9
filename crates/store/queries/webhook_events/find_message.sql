-- The payload of a message that has not expired; null when it was recalled.
SELECT payload FROM inbox_messages WHERE inbox = $1 AND seq = $2 AND expires_at > now()
