UPDATE journal_seal_heads SET signed_seq = $3 WHERE journal = $1 AND owner = $2
