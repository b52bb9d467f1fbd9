SELECT
    (SELECT coalesce(max(version), 0) FROM _sqlx_migrations WHERE success) AS "applied!",
    floor
FROM schema_state
