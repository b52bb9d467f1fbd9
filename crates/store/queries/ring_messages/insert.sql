-- Puts messages into the rings of inboxes, counts them, and drops the oldest beyond the size of a ring ($11). The caller holds the
-- locks of the heads. Those that are too old are not read any more, and dropped later.
WITH added AS (
    INSERT INTO ring_messages (inbox, seq, sender, message_id, kind, envelope_type, payload, device, slot, sent_at)
    SELECT sent.inbox, sent.seq, sent.sender, sent.message_id, sent.kind, sent.envelope_type, sent.payload, sent.device, sent.slot, $10
    FROM unnest(
        $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[]
    ) AS sent (inbox, seq, sender, message_id, kind, envelope_type, payload, device, slot)
    RETURNING inbox
),

counted AS (
    SELECT added.inbox, count(*) AS messages FROM added GROUP BY added.inbox
),

total AS (
    UPDATE inboxes AS head SET ring_total = head.ring_total + counted.messages
    FROM counted
    WHERE head.id = counted.inbox
)

-- This statement does not see the rows that it adds: there is room for them.
DELETE FROM ring_messages AS old
USING counted
CROSS JOIN LATERAL (
    SELECT kept.seq FROM ring_messages AS kept
    WHERE kept.inbox = counted.inbox
    ORDER BY kept.seq DESC
    OFFSET greatest($11::bigint - counted.messages, 0)
    LIMIT 1
) AS dropped
WHERE old.inbox = counted.inbox AND old.seq <= dropped.seq
