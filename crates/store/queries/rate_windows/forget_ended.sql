-- A window is kept a minute longer than it is open, in case the clock goes back. Rows that another replica is deleting are
-- left to it.
DELETE FROM rate_windows
WHERE ctid IN (
    SELECT ctid FROM rate_windows
    WHERE ends_at < now() - interval '1 minute'
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
