-- One sender of an inbox: its last durable message, and the oldest that has not expired.
SELECT
    coalesce(max(known.head_seq), 0) AS "head_seq!",
    (
        SELECT message.seq FROM inbox_messages AS message
        WHERE message.inbox = $1 AND message.sender = $2 AND message.expires_at > now()
        ORDER BY message.seq
        LIMIT 1
    ) AS oldest_seq
FROM inbox_senders AS known
WHERE known.inbox = $1 AND known.sender = $2
