-- What was last used before a time. Some of it may stay for a while: sessions with open work or stored files.
SELECT
    count(DISTINCT session.id) AS "sessions!",
    count(run.id) AS "runs!",
    coalesce(sum(head.last_seq), 0)::bigint AS "events!"
FROM sessions AS session
LEFT JOIN runs AS run ON run.session = session.id
LEFT JOIN journal_heads AS head ON head.journal = 2 AND head.owner = run.id
WHERE session.tenant = $1
    AND session.id < journal_run_bound($2)
    AND session.updated_at < $2
    AND session.active_run IS NULL
