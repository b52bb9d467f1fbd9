-- Partitions of one week each that ended before a time; first one whose detaching was interrupted, because only one can be
-- detached at a time. The partition for older runs has no lower bound, and stays.
SELECT
    partition.name AS "name!",
    partition.bounds[1]::uuid AS "first!",
    partition.bounds[2]::uuid AS "end!",
    partition.is_detaching AS "is_detaching!"
FROM (
    SELECT
        child.relname::text AS name,
        regexp_match(
            pg_get_expr(child.relpartbound, child.oid), 'FROM \(''([0-9a-f-]+)''\) TO \(''([0-9a-f-]+)''\)'
        ) AS bounds,
        inherits.inhdetachpending AS is_detaching
    FROM pg_inherits AS inherits
    INNER JOIN pg_class AS child ON child.oid = inherits.inhrelid
    WHERE inherits.inhparent = 'journal_entries_run'::regclass
) AS partition
WHERE partition.bounds IS NOT NULL AND partition.bounds[2]::uuid <= journal_run_bound($1)
ORDER BY partition.is_detaching DESC, partition.name
