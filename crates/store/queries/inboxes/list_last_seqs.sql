SELECT id, last_seq FROM inboxes WHERE id = ANY($1)
