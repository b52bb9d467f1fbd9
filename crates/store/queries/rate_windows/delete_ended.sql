-- A window is kept for a minute after its end, in case the clock goes back. Rows that another replica is deleting are
-- skipped.
DELETE FROM rate_windows
WHERE ctid IN (
    SELECT ctid FROM rate_windows
    WHERE ends_at < now() - interval '1 minute'
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
