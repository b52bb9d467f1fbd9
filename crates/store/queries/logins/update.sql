UPDATE logins
SET current_hash = $2, previous_hash = $3, previous_rotated_at = $4, last_rotated_at = $5, revoked_at = $6
WHERE id = $1
