-- For each message to send: the last seq of its sender in that inbox, and the same message if it was stored before.
SELECT
    sent.place AS "place!",
    head.head_seq AS "head_seq?",
    coalesce(stored.seq, waiting.seq) AS "seq?",
    coalesce(stored.sent_at, waiting.sent_at) AS "sent_at?: SqlTimestamp",
    coalesce(stored.kind, waiting.kind) AS "kind?",
    coalesce(stored.payload, waiting.payload) AS "payload?"
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) WITH ORDINALITY AS sent (inbox, sender, message_id, place)
LEFT JOIN inbox_senders AS head ON head.inbox = sent.inbox AND head.sender = sent.sender
LEFT JOIN LATERAL (
    SELECT message.seq, message.sent_at, message.kind, message.payload
    FROM inbox_messages AS message
    WHERE message.message_id = sent.message_id AND message.sender = sent.sender AND message.inbox = sent.inbox
        AND message.expires_at > $4
    LIMIT 1
) AS stored ON true
LEFT JOIN LATERAL (
    SELECT ring.seq, ring.sent_at, ring.kind, ring.payload
    FROM ring_messages AS ring
    WHERE ring.inbox = sent.inbox AND ring.sender = sent.sender AND ring.message_id = sent.message_id
    LIMIT 1
) AS waiting ON true
