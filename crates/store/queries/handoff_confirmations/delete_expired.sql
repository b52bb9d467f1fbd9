DELETE FROM handoff_confirmations
WHERE id IN (SELECT id FROM handoff_confirmations WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED)
