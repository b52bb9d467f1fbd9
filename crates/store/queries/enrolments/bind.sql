-- Changes nothing if the enrolment is bound to another run: of two concurrent claims, one succeeds.
UPDATE enrolments SET run = $2 WHERE id = $1 AND revoked_at IS NULL AND (run IS NULL OR run = $2)
