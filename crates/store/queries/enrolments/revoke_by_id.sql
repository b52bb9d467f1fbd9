-- Revokes the enrolment of a launched process.
UPDATE enrolments SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL
