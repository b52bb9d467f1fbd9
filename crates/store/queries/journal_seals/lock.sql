-- The row holds the last hash itself: joined from another table, it could be older than the number beside it.
SELECT sealed_seq, hash FROM journal_seal_heads WHERE journal = $1 AND owner = $2 FOR UPDATE SKIP LOCKED
