-- Hands out a block of permits of the current window, by the clock of PostgreSQL: at most as many as requested and as
-- are left. Concurrent borrowers of one caller wait for each other on its row. Without a permit left, only the time
-- until the next window is returned.
WITH open AS (
    SELECT to_timestamp(floor(extract(epoch FROM now()) / $3::bigint) * $3::bigint) AS starts_at
),
borrowed AS (
    INSERT INTO rate_windows AS existing (tier, key, starts_at, ends_at, handed_out, block)
    SELECT $1, $2, starts_at, starts_at + make_interval(secs => $3::bigint), least($5::integer, $4::integer), least($5, $4)
    FROM open
    ON CONFLICT (tier, key, starts_at, ends_at) DO UPDATE
    SET handed_out = existing.handed_out + least($5, $4 - existing.handed_out),
        block = least($5, $4 - existing.handed_out)
    WHERE existing.handed_out < $4
    RETURNING handed_out, block
)
SELECT
    extract(epoch FROM starts_at + make_interval(secs => $3::bigint) - now())::float8 AS "ends_in_secs!",
    block AS "block?",
    handed_out AS "handed_out?"
FROM open
LEFT JOIN borrowed ON true
