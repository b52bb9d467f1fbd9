-- What the user $2 knows of agents. The current manifest of one that they cannot see any more is not for them: they know the last
-- version that was published, or that they were told about.
SELECT
    agents.id AS "id!", principals.name AS "name!", coalesce(agent_aids.aid, agent_inboxes.aid) AS aid,
    visibility.is_visible AS "is_visible!",
    agents.manifest_version, agent_manifests.hash AS "manifest_hash?",
    CASE
        WHEN visibility.is_visible THEN agents.manifest_version
        ELSE greatest(
            (
                SELECT max(shown.version) FROM agent_manifests AS shown
                WHERE shown.agent = agents.id AND shown.log_index IS NOT NULL
            ),
            (
                SELECT max(notice.manifest_version)
                FROM relation_notices AS notice
                JOIN relations ON relations.id = notice.relation
                WHERE relations.agent = agents.id AND relations.principal = $2 AND relations.ended_at IS NULL
            )
        )
    END AS last_seen_version
FROM agents
JOIN principals ON principals.id = agents.id
CROSS JOIN LATERAL (
    SELECT
        agents.published
        OR EXISTS (SELECT FROM memberships WHERE memberships.tenant = agents.tenant AND memberships.principal = $2)
        AS is_visible
) AS visibility
LEFT JOIN agent_manifests
    ON agent_manifests.agent = agents.id AND agent_manifests.version = agents.manifest_version
LEFT JOIN agent_aids ON agent_aids.agent = agents.id
LEFT JOIN agent_inboxes ON agent_inboxes.agent = agents.id
WHERE agents.id = ANY($1)
