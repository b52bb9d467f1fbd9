INSERT INTO unknown_names AS stored (slot, failures, expires_at) VALUES ($1, '{}', now())
ON CONFLICT (slot) DO UPDATE SET slot = excluded.slot
RETURNING stored.failures AS "failures: Vec<Timestamp>"
