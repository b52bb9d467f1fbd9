-- The entries are in the order of time: it ends at the first that is kept.
WITH oldest AS (
    SELECT seq, recorded_at FROM journal_entries
    WHERE journal = 4 AND owner = $1
    ORDER BY seq
    LIMIT $3
)
DELETE FROM journal_entries AS entry USING oldest
WHERE entry.journal = 4 AND entry.owner = $1 AND entry.seq = oldest.seq AND oldest.recorded_at < $2
