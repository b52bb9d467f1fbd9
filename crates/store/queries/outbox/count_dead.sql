SELECT count(*) AS "count!" FROM (SELECT FROM outbox WHERE dead_at IS NOT NULL LIMIT $1) AS dead
