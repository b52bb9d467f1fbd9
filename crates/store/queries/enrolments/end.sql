-- Ends what a launched process came with.
UPDATE enrolments SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL
