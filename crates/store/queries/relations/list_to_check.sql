-- Active relations of an agent by id, after $3 and up to $4, to compare with version $2. Whoever cannot see the agent is not told
-- about its manifests.
SELECT
    relations.id, relations.principal, relations.manifest_version,
    ARRAY(SELECT jsonb_array_elements_text(relations.granted_scopes)) AS "granted_scopes!",
    EXISTS (
        SELECT FROM relation_notices AS notice
        WHERE notice.relation = relations.id AND notice.manifest_version < $2
    ) AS "has_notice!",
    (
        agents.published
        OR EXISTS (
            SELECT FROM memberships
            WHERE memberships.tenant = agents.tenant AND memberships.principal = relations.principal
        )
    ) AS "is_visible!"
FROM relations
JOIN agents ON agents.id = relations.agent
WHERE relations.agent = $1 AND relations.ended_at IS NULL AND ($3::uuid IS NULL OR relations.id > $3)
    AND ($4::uuid IS NULL OR relations.id <= $4)
ORDER BY relations.id
LIMIT $5
