-- Sampled: a row that was refreshed recently is not written again. Every launcher of the kind refreshes the
-- unclaimed jobs.
UPDATE runner_jobs SET seen_at = now()
WHERE (place = $1 OR (place IS NULL AND launcher = $2))
    AND ended_at IS NULL
    AND seen_at < now() - interval '30 seconds'
