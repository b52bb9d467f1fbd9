SELECT
    version, hash, contract, consent, log_index, created_at AS "created_at: Timestamp", canonical
FROM agent_manifests
WHERE agent = $1 AND version = $2
