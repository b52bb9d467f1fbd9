SELECT
    number, kind, ARRAY(SELECT jsonb_array_elements_text(granted_scopes)) AS "granted_scopes!", manifest_version,
    manifest_hash, actor, changed_at AS "changed_at: Timestamp"
FROM relation_changes
WHERE relation = $1 AND number < $2
ORDER BY number DESC
LIMIT $3
