UPDATE runner_jobs SET enrolment = $2 WHERE id = $1 AND phase = 'launching'
