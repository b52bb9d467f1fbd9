SELECT recorded_at AS "recorded_at: Timestamp"
FROM journal_entries
WHERE journal = $1 AND owner = $2 AND seq = $3
