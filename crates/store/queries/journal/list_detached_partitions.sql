-- Tables that were partitions and were not dropped yet.
SELECT relation.relname::text AS "name!"
FROM pg_class AS relation
WHERE relation.relnamespace = current_schema()::regnamespace
    AND relation.relkind = 'r'
    AND NOT relation.relispartition
    AND relation.relname ~ '^journal_entries_run_[0-9]{4}w[0-9]{2}$'
