-- The runs of a session after an ordinal, in order.
SELECT id, ordinal, created_at AS "created_at: Timestamp" FROM runs
WHERE session = $1 AND ordinal > $2 ORDER BY ordinal LIMIT $3
