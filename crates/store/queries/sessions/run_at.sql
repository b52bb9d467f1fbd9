-- The run of a session with the lowest ordinal from a number on.
SELECT id, ordinal, state FROM runs WHERE session = $1 AND ordinal >= $2 ORDER BY ordinal LIMIT 1
