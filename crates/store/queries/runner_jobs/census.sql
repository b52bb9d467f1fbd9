-- What a place has: everything that is to run there, what may have a process, and the warm ones that wait for a run.
-- One that a killed server had begun with is taken again, and needs room then.
SELECT
    count(*) AS "open!",
    count(*) FILTER (
        WHERE phase = 'running' OR (phase = 'launching' AND tried_at >= now() - interval '10 seconds')
    ) AS "begun!",
    count(*) FILTER (WHERE kind = 'warm' AND run IS NULL AND profile = $2) AS "warm!"
FROM runner_jobs
WHERE place = $1 AND ended_at IS NULL
