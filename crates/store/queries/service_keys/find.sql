SELECT
    service_keys.tenant,
    service_keys.principal,
    service_keys.hash,
    service_keys.last_used_at AS "last_used_at: Timestamp"
FROM service_keys
WHERE service_keys.id = $1 AND service_keys.revoked_at IS NULL
