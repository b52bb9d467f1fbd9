SELECT inboxes.id FROM aids JOIN inboxes ON inboxes.aid = aids.aid WHERE aids.principal = $1
