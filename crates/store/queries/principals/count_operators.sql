SELECT count(*) AS "count!" FROM principals WHERE is_operator AND disabled_at IS NULL
