UPDATE approvals
SET status = $2, parked = $3, end_reason = $4, option_id = $5, effect = $6, decided_by_kind = $7, decided_by = $8,
    decided_at = $9
WHERE id = $1
