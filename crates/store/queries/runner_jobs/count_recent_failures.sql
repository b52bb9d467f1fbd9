SELECT count(*) AS "failed!"
FROM runner_jobs
WHERE place = $1
    AND phase = 'failed'
    AND kind = 'warm'
    AND profile = $2
    AND ended_at > now() - $3::float8 * interval '1 second'
