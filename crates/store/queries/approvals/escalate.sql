UPDATE approvals
SET escalated_at = now(), expires_at = now() + make_interval(secs => $2::double precision)
WHERE id = $1
