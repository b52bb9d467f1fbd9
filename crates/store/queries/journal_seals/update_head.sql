UPDATE journal_seal_heads SET sealed_seq = $3, hash = $4 WHERE journal = $1 AND owner = $2
