-- The messages of a list that a session has had.
SELECT message AS "message!" FROM client_runs WHERE session = $1 AND message = ANY($2)
