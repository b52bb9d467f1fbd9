INSERT INTO transparency_entries (index, serial, logged_at)
SELECT new.index, new.serial, $3
FROM unnest($1::bigint[], $2::bytea[]) AS new (index, serial)
