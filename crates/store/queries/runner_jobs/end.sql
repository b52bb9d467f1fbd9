UPDATE runner_jobs
SET phase = $2, exit_code = $3, message = $4, ended_at = now()
WHERE id = $1 AND ended_at IS NULL
