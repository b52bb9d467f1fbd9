UPDATE profile_validations
SET status = $2, failure_kind = $3, failure_message = $4, settled_at = now()
WHERE id = $1 AND status = 'pending'
