WITH oldest AS (
    SELECT owner, seq FROM journal_entries WHERE journal = 2 AND owner = ANY ($1) LIMIT $2
)
DELETE FROM journal_entries AS entry USING oldest
WHERE entry.journal = 2 AND entry.owner = oldest.owner AND entry.seq = oldest.seq
