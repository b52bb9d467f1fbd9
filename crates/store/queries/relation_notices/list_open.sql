-- A page has all rows of its last revision.
SELECT
    notice.relation, relations.agent, notice.kind, notice.manifest_version, notice.manifest_hash,
    ARRAY(SELECT jsonb_array_elements_text(notice.scopes)) AS "scopes!", notice.revision
FROM relation_notices AS notice
JOIN relations ON relations.id = notice.relation
WHERE notice.principal = $1 AND notice.acknowledged_at IS NULL AND notice.revision > $2
ORDER BY notice.revision
FETCH FIRST $3 ROWS WITH TIES
