-- The active relations of an agent ($1) with some users ($2), of those who can see the agent now.
SELECT
    relations.id, relations.agent, relations.principal,
    ARRAY(SELECT jsonb_array_elements_text(relations.granted_scopes)) AS "granted_scopes!", relations.manifest_version,
    relations.manifest_hash, relations.revision, relations.created_at AS "created_at: Timestamp",
    relations.changed_at AS "changed_at: Timestamp", relations.ended_at AS "ended_at: Timestamp"
FROM relations
JOIN agents ON agents.id = relations.agent
WHERE relations.agent = $1 AND relations.principal = ANY($2) AND relations.ended_at IS NULL
    AND (
        agents.published
        OR EXISTS (
            SELECT FROM memberships
            WHERE memberships.tenant = agents.tenant AND memberships.principal = relations.principal
        )
    )
