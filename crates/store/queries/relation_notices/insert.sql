-- One notice for each relation that is still active and pinned as it was compared. $5 are JSON arrays.
INSERT INTO relation_notices (relation, manifest_version, manifest_hash, principal, kind, scopes, revision)
SELECT told.relation, $7, $8, told.principal, told.kind, told.scopes::jsonb, told.revision
FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::bigint[])
    AS told (relation, principal, pinned, kind, scopes, revision)
JOIN relations
    ON relations.id = told.relation AND relations.ended_at IS NULL AND relations.manifest_version = told.pinned
ON CONFLICT (relation, manifest_version) DO NOTHING
