-- Need not be on the disk: a job that is still launching is looked at again, and its process found.
UPDATE runner_jobs
SET phase = 'running', launched_at = now(), seen_at = now()
WHERE id = $1 AND phase = 'launching' AND set_config('synchronous_commit', 'off', true) IS NOT NULL
