-- Binds an enrolment to a run. Nothing changes where it is bound to another: of two claims at once, one gets it.
UPDATE enrolments SET run = $2 WHERE id = $1 AND revoked_at IS NULL AND (run IS NULL OR run = $2)
