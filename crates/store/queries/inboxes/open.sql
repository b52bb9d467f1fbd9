-- Creates the inbox of a registered AID, unless it exists.
INSERT INTO inboxes (aid) SELECT aid FROM aids WHERE aid = $1 ON CONFLICT (aid) DO NOTHING
