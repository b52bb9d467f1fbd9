UPDATE approvals
SET escalated_at = now(), expires_at = $2
WHERE id = $1
