INSERT INTO transparency_nodes (level, index, hash)
SELECT new.level, new.index, new.hash
FROM unnest($1::smallint[], $2::bigint[], $3::bytea[]) AS new (level, index, hash)
