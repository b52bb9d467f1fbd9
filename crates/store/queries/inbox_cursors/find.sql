-- How far an instance has confirmed the messages of one sender: for it alone, or over all.
SELECT coalesce(max(ack_seq), 0) AS "ack_seq!"
FROM inbox_cursors
WHERE inbox = $1 AND device = $2 AND slot = $3 AND sender = ANY(ARRAY[0, $4::bigint])
