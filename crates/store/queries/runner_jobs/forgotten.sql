-- Jobs that nobody has seen for long: nobody can say how they do.
SELECT id FROM runner_jobs
WHERE ended_at IS NULL AND seen_at < now() - $1::float8 * interval '1 second'
LIMIT $2
