-- Records the run that a warm runner claimed.
UPDATE runner_jobs SET run = $2 WHERE enrolment = $1 AND ended_at IS NULL AND kind = 'warm'
