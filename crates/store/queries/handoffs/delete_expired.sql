DELETE FROM handoffs
WHERE id IN (SELECT id FROM handoffs WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED)
