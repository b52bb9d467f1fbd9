-- Open jobs that no launcher has refreshed for a long time: their state is unknown.
SELECT id FROM runner_jobs
WHERE ended_at IS NULL AND seen_at < now() - $1::float8 * interval '1 second'
LIMIT $2
