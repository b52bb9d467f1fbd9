-- Those of a user by id, after one of them.
SELECT
    id, agent, principal, ARRAY(SELECT jsonb_array_elements_text(granted_scopes)) AS "granted_scopes!", manifest_version,
    manifest_hash, revision, created_at AS "created_at: Timestamp", changed_at AS "changed_at: Timestamp",
    ended_at AS "ended_at: Timestamp"
FROM relations
WHERE principal = $1 AND ($2 OR ended_at IS NULL) AND ($3::uuid IS NULL OR id > $3)
ORDER BY id
LIMIT $4
