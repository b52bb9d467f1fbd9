UPDATE runner_jobs
SET phase = 'running', launched_at = now(), seen_at = now()
WHERE id = $1 AND phase = 'launching'
