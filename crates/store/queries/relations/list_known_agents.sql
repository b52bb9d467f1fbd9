-- What the user $2 knows of agents. The current manifest of one that they cannot see any more is not for them.
SELECT
    agents.id AS "id!", principals.name AS "name!", coalesce(agent_aids.aid, agent_inboxes.aid) AS aid,
    (
        agents.published
        OR EXISTS (SELECT FROM memberships WHERE memberships.tenant = agents.tenant AND memberships.principal = $2)
    ) AS "is_visible!",
    agents.manifest_version, agent_manifests.hash AS "manifest_hash?"
FROM agents
JOIN principals ON principals.id = agents.id
LEFT JOIN agent_manifests
    ON agent_manifests.agent = agents.id AND agent_manifests.version = agents.manifest_version
LEFT JOIN agent_aids ON agent_aids.agent = agents.id
LEFT JOIN agent_inboxes ON agent_inboxes.agent = agents.id
WHERE agents.id = ANY($1)
