-- The named version, or the current one. What was never published is nobody's business but the tenant's.
SELECT
    principals.name, m.version, m.hash, m.contract, m.consent, m.log_index, m.created_at AS "created_at: Timestamp",
    m.canonical
FROM agents
JOIN principals ON principals.id = agents.id
JOIN agent_manifests AS m ON m.agent = agents.id AND m.version = coalesce($2, agents.manifest_version)
WHERE agents.id = $1 AND agents.published AND m.log_index IS NOT NULL
