-- Locks heads in the order of their ids, as every sender does. The time is that of PostgreSQL, in milliseconds.
SELECT id, last_seq, date_trunc('milliseconds', clock_timestamp()) AS "now!: Timestamp"
FROM inboxes
WHERE id = ANY($1)
ORDER BY id
FOR UPDATE
