-- Whoever shows the code takes it, whatever comes of it: one that is shown twice was stolen.
DELETE FROM handoffs
WHERE id = $1 AND hash = $2
RETURNING principal, challenge, expires_at AS "expires_at: Timestamp"
