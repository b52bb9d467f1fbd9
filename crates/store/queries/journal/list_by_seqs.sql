-- One index lookup per sequence number: with a plain ANY and ORDER BY, PostgreSQL before 17 may scan the stream from
-- its beginning and discard the other rows.
SELECT entry.seq, entry.id, entry.kind, entry.body, entry.recorded_at AS "recorded_at: Timestamp"
FROM unnest($3::bigint[]) AS wanted (seq)
CROSS JOIN LATERAL (
    SELECT seq, id, kind, body, recorded_at
    FROM journal_entries
    WHERE journal = $1 AND owner = $2 AND seq = wanted.seq
    LIMIT 1
) AS entry
