-- What devices of users have to know since a revision that they have seen. A page has all rows of its last revision.
SELECT
    id, agent, principal, ARRAY(SELECT jsonb_array_elements_text(granted_scopes)) AS "granted_scopes!", manifest_version,
    manifest_hash, revision, created_at AS "created_at: Timestamp", changed_at AS "changed_at: Timestamp",
    ended_at AS "ended_at: Timestamp"
FROM relations
WHERE principal = $1 AND revision > $2
ORDER BY revision
FETCH FIRST $3 ROWS WITH TIES
