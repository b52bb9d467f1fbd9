UPDATE journal_heads SET last_seq = $3 WHERE journal = $1 AND owner = $2
