-- An agent that is published, or of a tenant of the user $2.
SELECT
    agents.id AS "id!", agents.tenant AS "tenant!", principals.name AS "name!", coalesce(agent_aids.aid, agent_inboxes.aid) AS aid,
    agents.manifest_version, agent_manifests.hash AS "manifest_hash?", agent_manifests.canonical AS "canonical?"
FROM agents
JOIN principals ON principals.id = agents.id
LEFT JOIN agent_manifests
    ON agent_manifests.agent = agents.id AND agent_manifests.version = agents.manifest_version
LEFT JOIN agent_aids ON agent_aids.agent = agents.id
LEFT JOIN agent_inboxes ON agent_inboxes.agent = agents.id
WHERE agents.id = $1
    AND (
        agents.published
        OR EXISTS (SELECT FROM memberships WHERE memberships.tenant = agents.tenant AND memberships.principal = $2)
    )
