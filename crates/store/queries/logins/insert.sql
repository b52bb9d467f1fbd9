INSERT INTO logins (id, principal, current_hash, last_rotated_at, expires_at) VALUES ($1, $2, $3, $4, $5)
