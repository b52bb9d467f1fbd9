SELECT command, run_ordinal, after_seq FROM client_runs WHERE session = $1 AND client_run = $2
