DELETE FROM inbox_senders
WHERE (inbox, sender) IN (
    SELECT old.inbox, old.sender FROM inbox_senders AS old WHERE old.active_on < ($1::timestamptz AT TIME ZONE 'UTC')::date ORDER BY old.active_on LIMIT $2
)
