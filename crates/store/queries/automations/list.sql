SELECT
    id, tenant, agent, slug, name, enabled, revision, settings, created_at AS "created_at: Timestamp",
    updated_at AS "updated_at: Timestamp"
FROM automations
WHERE tenant = $1
ORDER BY slug
LIMIT $2
