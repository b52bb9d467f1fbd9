SELECT
    id,
    version,
    started_at AS "started_at: Timestamp",
    seen_at AS "seen_at: Timestamp"
FROM replicas
ORDER BY id
LIMIT $1
