-- Sampled: a row that was seen lately is not written again. What no place has taken yet is seen by all of its sort.
UPDATE runner_jobs SET seen_at = now()
WHERE (place = $1 OR (place IS NULL AND launcher = $2))
    AND ended_at IS NULL
    AND seen_at < now() - interval '30 seconds'
