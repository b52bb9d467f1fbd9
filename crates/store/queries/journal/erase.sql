UPDATE journal_entries
SET body = NULL, erased_at = now()
WHERE journal = $1 AND owner = $2 AND seq = $3 AND erased_at IS NULL
