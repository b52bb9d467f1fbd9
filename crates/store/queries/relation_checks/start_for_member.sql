-- Starts comparisons with the manifests of agents of the tenant $1 that are not published, where the user $2 has agreed to another
-- version and was not told. They could not see the agent while they were no member.
INSERT INTO relation_checks AS known (agent, version)
SELECT agents.id, agents.manifest_version
FROM relations
JOIN agents ON agents.id = relations.agent
WHERE relations.principal = $2
    AND relations.ended_at IS NULL
    AND agents.tenant = $1
    AND NOT agents.published
    AND agents.manifest_version <> relations.manifest_version
    AND NOT EXISTS (
        SELECT FROM relation_notices AS notice
        WHERE notice.relation = relations.id AND notice.manifest_version = agents.manifest_version
    )
ORDER BY agents.id
ON CONFLICT (agent) DO UPDATE
SET
    -- Another transaction may have declared a newer one.
    version = greatest(known.version, excluded.version),
    after = CASE WHEN known.ended_at IS NULL THEN known.after END,
    began_after = CASE WHEN known.ended_at IS NULL THEN known.after END,
    has_wrapped = false,
    ended_at = NULL,
    started_at = now()
