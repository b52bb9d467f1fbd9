WITH old AS (
    SELECT id FROM runner_jobs
    WHERE id > $1 AND id < journal_run_bound($2) AND ended_at < $2
    ORDER BY id
    LIMIT $3
)
DELETE FROM runner_jobs USING old WHERE runner_jobs.id = old.id
RETURNING old.id AS "id!"
