SELECT count(*) AS "count!" FROM relations WHERE principal = $1 AND ended_at IS NULL
