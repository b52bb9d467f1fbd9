-- The last hash is stored in this row: joined from another table, it could be older than `sealed_seq`.
SELECT sealed_seq, hash, signed_seq
FROM journal_seal_heads
WHERE journal = $1 AND owner = $2
FOR UPDATE SKIP LOCKED
