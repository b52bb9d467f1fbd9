INSERT INTO runner_jobs (id, attempt, kind, profile, run, command, launcher, place, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
