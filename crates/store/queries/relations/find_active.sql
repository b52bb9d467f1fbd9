SELECT
    id, agent, principal, ARRAY(SELECT jsonb_array_elements_text(granted_scopes)) AS "granted_scopes!", manifest_version,
    manifest_hash, revision, created_at AS "created_at: Timestamp", changed_at AS "changed_at: Timestamp",
    ended_at AS "ended_at: Timestamp"
FROM relations
WHERE agent = $1 AND principal = $2 AND ended_at IS NULL
