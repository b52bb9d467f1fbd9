-- Newest first, without the texts.
SELECT version, hash, contract, consent, log_index, created_at AS "created_at: Timestamp"
FROM agent_manifests
WHERE agent = $1 AND version < $2
ORDER BY version DESC
LIMIT $3
