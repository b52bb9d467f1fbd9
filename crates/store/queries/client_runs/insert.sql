-- Waits for a concurrent insert of the same id, and returns the turn that has it.
INSERT INTO client_runs (session, client_run, message, command, run_ordinal, after_seq, resumed)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (session, client_run) DO UPDATE SET command = client_runs.command
RETURNING command, run_ordinal, after_seq, xmax = 0 AS "is_new!"
