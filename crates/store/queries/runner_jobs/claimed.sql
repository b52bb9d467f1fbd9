-- Notes which run a warm runner got.
UPDATE runner_jobs SET run = $2 WHERE enrolment = $1 AND ended_at IS NULL AND kind = 'warm'
