-- The new messages of several inboxes, each after a seq: at most $3 of each, with at most $4 bytes of payloads.
SELECT
    message.inbox AS "inbox!", message.seq AS "seq!", message.message_id AS "message_id!", message.kind AS "kind!",
    message.envelope_type AS "envelope_type!", message.previous_seq AS "previous_seq!", message.mode AS "mode!",
    message.sent_at AS "sent_at!: SqlTimestamp", message.payload, sender.aid AS "sender!", recipient.aid AS "recipient!",
    message.device, message.slot
FROM (
    SELECT
        found.*,
        sum(octet_length(coalesce(found.payload, ''))) OVER (PARTITION BY found.inbox ORDER BY found.seq) AS bytes,
        row_number() OVER (PARTITION BY found.inbox ORDER BY found.seq) AS place
    FROM unnest($1::bigint[], $2::bigint[]) AS woken (inbox, after)
    CROSS JOIN LATERAL (
        (
            SELECT
                stored.inbox, stored.seq, stored.sender, stored.recipient, stored.message_id, stored.kind, stored.envelope_type,
                stored.previous_seq, 'fanout' AS mode, stored.sent_at, stored.payload, NULL::text AS device, NULL::text AS slot
            FROM inbox_messages AS stored
            WHERE stored.inbox = woken.inbox AND stored.seq > woken.after AND stored.expires_at > now()
            ORDER BY stored.seq
            LIMIT $3
        )
        UNION ALL
        (
            SELECT
                ring.inbox, ring.seq, ring.sender, NULL::bigint, ring.message_id, ring.kind, ring.envelope_type,
                0::bigint, 'queue', ring.sent_at, ring.payload, ring.device, ring.slot
            FROM ring_messages AS ring
            WHERE ring.inbox = woken.inbox AND ring.seq > woken.after
            ORDER BY ring.seq
            LIMIT $3
        )
        ORDER BY seq
        LIMIT $3
    ) AS found
) AS message
INNER JOIN inboxes AS sender ON sender.id = message.sender
INNER JOIN inboxes AS recipient ON recipient.id = coalesce(message.recipient, message.inbox)
WHERE message.place = 1 OR message.bytes <= $4
ORDER BY message.inbox, message.seq
