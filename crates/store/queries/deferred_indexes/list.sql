SELECT relation.relname::text AS "name!", index.indisvalid AS "is_valid!"
FROM pg_index AS index
INNER JOIN pg_class AS relation ON relation.oid = index.indexrelid
WHERE relation.relnamespace = current_schema()::regnamespace AND relation.relname = ANY ($1)
