-- A code is deleted at first use, whatever the result: a second use means that it was stolen.
DELETE FROM handoffs
WHERE id = $1 AND hash = $2
RETURNING principal, challenge, expires_at AS "expires_at: Timestamp"
