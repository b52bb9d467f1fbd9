-- Appends to many streams at once. The caller has decided on the numbers from the heads as it last saw them; when one
-- of them has moved since, or has another holder, nothing is written at all.
WITH moved AS (
    UPDATE journal_heads AS head
    SET last_seq = wanted.next_seq
    FROM unnest($1::smallint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[])
        AS wanted (journal, owner, seen_seq, epoch, next_seq)
    WHERE head.journal = wanted.journal
        AND head.owner = wanted.owner
        AND head.last_seq = wanted.seen_seq
        AND head.epoch = wanted.epoch
    RETURNING 1
)
INSERT INTO journal_entries (journal, owner, seq, id, kind, body)
SELECT entry.journal, entry.owner, entry.seq, entry.id, entry.kind, entry.body
FROM unnest($6::smallint[], $7::uuid[], $8::bigint[], $9::uuid[], $10::text[], $11::text[])
    AS entry (journal, owner, seq, id, kind, body)
WHERE journal_all_moved((SELECT count(*) FROM moved), cardinality($1::smallint[]))
