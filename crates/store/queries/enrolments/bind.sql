-- Binds an enrolment and the job of its warm runner to a run. Changes nothing if the enrolment is bound to another run: of two
-- concurrent claims, one succeeds.
WITH bound AS (
    UPDATE enrolments SET run = $2 WHERE id = $1 AND revoked_at IS NULL AND (run IS NULL OR run = $2)
    RETURNING id
),

warm AS (
    UPDATE runner_jobs SET run = $2
    FROM bound
    WHERE runner_jobs.enrolment = bound.id AND runner_jobs.ended_at IS NULL AND runner_jobs.kind = 'warm'
)

SELECT id FROM bound
