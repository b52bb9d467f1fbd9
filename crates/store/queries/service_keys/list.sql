SELECT
    id,
    name,
    created_at AS "created_at: Timestamp",
    last_used_at AS "last_used_at: Timestamp",
    revoked_at AS "revoked_at: Timestamp"
FROM service_keys
WHERE tenant = $1
ORDER BY id
LIMIT $2
