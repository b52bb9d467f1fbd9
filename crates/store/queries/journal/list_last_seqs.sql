-- The last sequence numbers of streams. For a session it is the ordinal of its last run.
SELECT head.journal AS "journal!", head.owner AS "owner!", head.last_seq AS "last_seq!"
FROM journal_heads AS head
INNER JOIN unnest($1::smallint[], $2::uuid[]) AS wanted (journal, owner)
    ON head.journal = wanted.journal AND head.owner = wanted.owner
UNION ALL
SELECT $4::smallint, session.id, session.runs::bigint FROM sessions AS session WHERE session.id = ANY($3::uuid[])
