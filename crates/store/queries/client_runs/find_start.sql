-- The place before the first event of a turn that a client has started.
SELECT run_ordinal, after_seq FROM client_runs
WHERE session = $1 AND command = $2 AND message IS NOT NULL
