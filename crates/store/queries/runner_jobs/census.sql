-- What a place has: everything that may run there, and the warm ones that wait for a run.
SELECT
    count(*) AS "open!",
    count(*) FILTER (WHERE phase <> 'pending') AS "begun!",
    count(*) FILTER (WHERE kind = 'warm' AND run IS NULL AND profile = $2) AS "warm!"
FROM runner_jobs
WHERE place = $1 AND ended_at IS NULL
