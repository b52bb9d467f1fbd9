-- Tables that were partitions, were not dropped yet, and whose week has no run. A week that somebody detached by hand stays
-- while its runs exist.
SELECT relation.relname::text AS "name!"
FROM pg_class AS relation
CROSS JOIN LATERAL (
    SELECT to_date(right(relation.relname, 7), 'IYYY"w"IW')::timestamp AT TIME ZONE 'UTC' AS monday
) AS week
WHERE relation.relnamespace = current_schema()::regnamespace
    AND relation.relkind = 'r'
    AND NOT relation.relispartition
    AND relation.relname ~ '^journal_entries_run_[0-9]{4}w[0-9]{2}$'
    AND NOT EXISTS (
        SELECT FROM runs AS run
        WHERE run.id >= journal_run_bound(week.monday)
            AND run.id < journal_run_bound(week.monday + interval '7 days')
    )
