SELECT id FROM inboxes WHERE aid = $1
