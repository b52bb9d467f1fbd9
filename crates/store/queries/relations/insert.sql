INSERT INTO relations (id, agent, principal, granted_scopes, manifest_version, manifest_hash, revision)
VALUES ($1, $2, $3, to_jsonb($4::text[]), $5, $6, $7)
