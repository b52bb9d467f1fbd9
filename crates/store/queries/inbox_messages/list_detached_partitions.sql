-- Tables that were partitions and were not dropped yet. All their messages have expired.
SELECT relation.relname::text AS "name!"
FROM pg_class AS relation
WHERE relation.relnamespace = current_schema()::regnamespace
    AND relation.relkind = 'r'
    AND NOT relation.relispartition
    AND relation.relname ~ '^inbox_messages_[0-9]{8}$'
    -- The name has the first day, and no partition has more than a week.
    AND to_date(right(relation.relname, 8), 'YYYYMMDD') + 7 <= ($1::timestamptz AT TIME ZONE 'UTC')::date
