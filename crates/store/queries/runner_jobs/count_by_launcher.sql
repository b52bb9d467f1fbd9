-- Jobs of a launcher: all open ones, those that may have a process, and idle warm runners. A job in `launching` for
-- more than 10 seconds belongs to a killed server; it is claimed again and needs capacity then.
SELECT
    count(*) AS "open!",
    count(*) FILTER (
        WHERE phase = 'running' OR (phase = 'launching' AND tried_at >= now() - interval '10 seconds')
    ) AS "begun!",
    count(*) FILTER (WHERE kind = 'warm' AND run IS NULL AND profile = $2) AS "warm!"
FROM runner_jobs
WHERE place = $1 AND ended_at IS NULL
