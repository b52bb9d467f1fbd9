DELETE FROM aid_reservations
WHERE name IN (
    SELECT name FROM aid_reservations WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
