SELECT command, run_ordinal, after_seq, message IS NULL AS "is_resume!" FROM client_runs
WHERE session = $1 AND client_run = $2
