-- Notes that an instance reads its inbox.
INSERT INTO inbox_instances AS known (inbox, device, slot, seen_on) VALUES ($1, $2, $3, ($4::timestamptz AT TIME ZONE 'UTC')::date)
ON CONFLICT (inbox, device, slot) DO UPDATE SET seen_on = excluded.seen_on WHERE known.seen_on <> excluded.seen_on
