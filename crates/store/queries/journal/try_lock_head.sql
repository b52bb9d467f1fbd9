SELECT last_seq, epoch FROM journal_heads WHERE journal = $1 AND owner = $2 FOR UPDATE SKIP LOCKED
