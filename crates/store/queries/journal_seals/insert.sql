INSERT INTO journal_seals (journal, owner, seq, body_hash, hash)
SELECT $1, $2, seal.seq, seal.body_hash, seal.hash
FROM unnest($3::bigint[], $4::bytea[], $5::bytea[]) AS seal (seq, body_hash, hash)
