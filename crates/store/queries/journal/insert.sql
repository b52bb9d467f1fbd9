INSERT INTO journal_entries (journal, owner, seq, id, kind, body)
SELECT $1, $2, entry.seq, entry.id, entry.kind, entry.body
FROM unnest($3::bigint[], $4::uuid[], $5::text[], $6::text[]) AS entry (seq, id, kind, body)
