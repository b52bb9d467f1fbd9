WITH inserted AS (
    INSERT INTO journal_checkpoints (journal, owner, seq, hash, signed_at, key_id, signature)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
)

UPDATE journal_seal_heads SET signed_seq = $3 WHERE journal = $1 AND owner = $2
