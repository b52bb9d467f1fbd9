DELETE FROM unknown_names
WHERE slot IN (SELECT slot FROM unknown_names WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED)
