DELETE FROM inbox_instances
WHERE (inbox, device, slot) IN (
    SELECT old.inbox, old.device, old.slot FROM inbox_instances AS old WHERE old.seen_on < ($1::timestamptz AT TIME ZONE 'UTC')::date ORDER BY old.seen_on LIMIT $2
)
