-- Those of some relations that have not ended.
SELECT id FROM relations WHERE id = ANY($1) AND ended_at IS NULL
