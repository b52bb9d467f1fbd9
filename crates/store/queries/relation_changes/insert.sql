INSERT INTO relation_changes (relation, number, kind, granted_scopes, manifest_version, manifest_hash, actor)
VALUES ($1, $2, $3, to_jsonb($4::text[]), $5, $6, $7)
