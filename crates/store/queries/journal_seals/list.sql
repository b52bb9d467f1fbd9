SELECT seq, body_hash, hash
FROM journal_seals
WHERE journal = $1 AND owner = $2 AND seq BETWEEN $3 AND $4
ORDER BY seq
