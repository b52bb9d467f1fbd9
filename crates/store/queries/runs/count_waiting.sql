-- The runs that can be claimed, at most this many.
SELECT count(*) AS "waiting!"
FROM (SELECT 1 FROM waiting_runs LIMIT $1) AS waiting
