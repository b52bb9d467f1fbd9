-- Inserts seals and moves the end of the chain to the last of them.
WITH inserted AS (
    INSERT INTO journal_seals (journal, owner, seq, body_hash, hash)
    SELECT $1, $2, seal.seq, seal.body_hash, seal.hash
    FROM unnest($3::bigint[], $4::bytea[], $5::bytea[]) AS seal (seq, body_hash, hash)
)

UPDATE journal_seal_heads SET sealed_seq = $6, hash = $7 WHERE journal = $1 AND owner = $2
