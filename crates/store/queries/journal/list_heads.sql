SELECT head.journal, head.owner, head.last_seq, head.epoch
FROM journal_heads AS head
INNER JOIN unnest($1::smallint[], $2::uuid[]) AS wanted (journal, owner)
    ON head.journal = wanted.journal AND head.owner = wanted.owner
