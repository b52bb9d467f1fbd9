-- Partitions whose messages have all expired, with those whose detaching was interrupted first: only one can be detached at a time.
SELECT part.name AS "name!"
FROM (
    SELECT
        child.relname::text AS name,
        (regexp_match(pg_get_expr(child.relpartbound, child.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz AS ends_at,
        inherits.inhdetachpending AS is_detaching
    FROM pg_inherits AS inherits
    INNER JOIN pg_class AS child ON child.oid = inherits.inhrelid
    WHERE inherits.inhparent = 'inbox_messages'::regclass
) AS part
WHERE part.ends_at < $1
ORDER BY part.is_detaching DESC, part.name
