SELECT
    agents.id, agents.tenant, agents.slug, principals.name, agents.enabled, agents.is_default, agents.revision,
    agent_revisions.settings, agents.manifest_version, agent_manifests.hash AS "manifest_hash?", agents.published,
    agents.created_at AS "created_at: Timestamp", agents.updated_at AS "updated_at: Timestamp"
FROM agents
JOIN principals ON principals.id = agents.id
JOIN agent_revisions ON agent_revisions.agent = agents.id AND agent_revisions.revision = agents.revision
LEFT JOIN agent_manifests
    ON agent_manifests.agent = agents.id AND agent_manifests.version = agents.manifest_version
WHERE agents.tenant = $1
ORDER BY agents.slug
LIMIT $2
