SELECT command, run_ordinal, after_seq, resumed IS NOT DISTINCT FROM $3 AS "is_same!"
FROM client_runs WHERE session = $1 AND client_run = $2
