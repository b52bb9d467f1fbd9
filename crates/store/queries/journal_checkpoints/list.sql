SELECT seq, hash, signed_at AS "signed_at: Timestamp", key_id, signature
FROM journal_checkpoints
WHERE journal = $1 AND owner = $2 AND seq BETWEEN $3 AND $4
ORDER BY seq
