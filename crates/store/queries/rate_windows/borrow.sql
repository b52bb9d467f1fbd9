-- Hands out a block of the permits of the window that is open now, by this clock: as many as were wished for, and never
-- more than are left. Borrowers of one caller's permits wait for each other at its row. Without a permit left, none is
-- handed out, and only the time until the next window is told.
WITH open AS (
    SELECT to_timestamp(floor(extract(epoch FROM now()) / $3::bigint) * $3::bigint) AS starts_at
),
borrowed AS (
    INSERT INTO rate_windows AS lent (tier, key, starts_at, ends_at, handed_out, block)
    SELECT $1, $2, starts_at, starts_at + make_interval(secs => $3::bigint), least($5::integer, $4::integer), least($5, $4)
    FROM open
    ON CONFLICT (tier, key, starts_at, ends_at) DO UPDATE
    SET handed_out = lent.handed_out + least($5, $4 - lent.handed_out),
        block = least($5, $4 - lent.handed_out)
    WHERE lent.handed_out < $4
    RETURNING handed_out, block
)
SELECT
    extract(epoch FROM starts_at + make_interval(secs => $3::bigint) - now())::float8 AS "ends_in_secs!",
    block AS "block?",
    handed_out AS "handed_out?"
FROM open
LEFT JOIN borrowed ON true
