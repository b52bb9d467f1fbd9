-- Inserts a key, or returns the existing row. A concurrent claim waits for the first to finish.
INSERT INTO idempotency_keys AS taken (principal, key, body_hash, made) VALUES ($1, $2, $3, $4)
ON CONFLICT (principal, key) DO UPDATE SET key = taken.key
RETURNING body_hash, made
