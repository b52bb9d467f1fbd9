SELECT id, seq, kind, body
FROM journal_entries
WHERE journal = $1 AND owner = $2 AND id = ANY ($3)
