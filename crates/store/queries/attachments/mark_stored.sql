UPDATE attachments SET stored_at = now() WHERE id = $1 AND removing_since IS NULL
