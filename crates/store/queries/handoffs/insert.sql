INSERT INTO handoffs (id, hash, principal, challenge, expires_at) VALUES ($1, $2, $3, $4, $5)
