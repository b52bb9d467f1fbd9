SELECT EXISTS (SELECT FROM relation_checks WHERE ended_at IS NULL) AS "exists!"
