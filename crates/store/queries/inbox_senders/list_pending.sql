-- Senders of an inbox with messages that an instance has not confirmed: first those whose last message is the oldest. What an instance
-- confirms leaves the list, so it gets all of them with several lists.
SELECT
    known.sender AS "sender!",
    sender.aid AS "aid!",
    known.head_seq AS "head_seq!",
    acked.seq AS "ack_seq!",
    oldest.seq AS "oldest_seq?",
    pending.seq AS "pending_seq?"
FROM inbox_senders AS known
INNER JOIN inboxes AS sender ON sender.id = known.sender
CROSS JOIN LATERAL (
    SELECT coalesce(max(cursor.ack_seq), 0) AS seq
    FROM inbox_cursors AS cursor
    WHERE cursor.inbox = $1 AND cursor.device = $2 AND cursor.slot = $3 AND cursor.sender = ANY(ARRAY[0, known.sender])
) AS acked
LEFT JOIN LATERAL (
    SELECT message.seq FROM inbox_messages AS message
    WHERE message.inbox = $1 AND message.sender = known.sender AND message.expires_at > now()
    ORDER BY message.seq
    LIMIT 1
) AS oldest ON true
LEFT JOIN LATERAL (
    SELECT message.seq FROM inbox_messages AS message
    WHERE message.inbox = $1 AND message.sender = known.sender AND message.seq > acked.seq AND message.expires_at > now()
        AND NOT message.kind = ANY($4)
    ORDER BY message.seq
    LIMIT 1
) AS pending ON true
WHERE known.inbox = $1 AND known.head_seq > acked.seq AND pending.seq IS NOT NULL
ORDER BY known.head_seq
LIMIT $5
