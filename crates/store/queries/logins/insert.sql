INSERT INTO logins (id, principal, kind, current_hash, last_rotated_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
