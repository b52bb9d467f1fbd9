UPDATE relations
SET
    granted_scopes = to_jsonb($2::text[]), manifest_version = $3, manifest_hash = $4, revision = $5,
    last_change = last_change + 1, changed_at = now(), ended_at = CASE WHEN $6 THEN now() END
WHERE id = $1 AND ended_at IS NULL
RETURNING last_change
