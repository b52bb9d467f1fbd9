-- The messages of an inbox after a seq, of both delivery modes, for one instance. At least one, at most $3, and at most $4 bytes of
-- payloads. A ring has the newest $7 messages of the last $8 seconds.
SELECT
    message.inbox AS "inbox!", message.seq AS "seq!", message.message_id AS "message_id!", message.kind AS "kind!",
    message.envelope_type AS "envelope_type!", message.previous_seq AS "previous_seq!", message.mode AS "mode!",
    message.sent_at AS "sent_at!: SqlTimestamp", message.payload, sender.aid AS "sender!", recipient.aid AS "recipient!"
FROM (
    SELECT
        found.*,
        sum(octet_length(coalesce(found.payload, ''))) OVER (ORDER BY found.seq) AS bytes,
        row_number() OVER (ORDER BY found.seq) AS place
    FROM (
        (
            SELECT
                stored.inbox, stored.seq, stored.sender, stored.recipient, stored.message_id, stored.kind, stored.envelope_type,
                stored.previous_seq, 'fanout' AS mode, stored.sent_at, stored.payload
            FROM inbox_messages AS stored
            WHERE stored.inbox = $1 AND stored.seq > $2 AND stored.expires_at > now()
            ORDER BY stored.seq
            LIMIT $3
        )
        UNION ALL
        (
            SELECT
                ring.inbox, ring.seq, ring.sender, NULL::bigint, ring.message_id, ring.kind, ring.envelope_type,
                0::bigint, 'queue', ring.sent_at, ring.payload
            FROM (
                SELECT * FROM ring_messages AS kept WHERE kept.inbox = $1 ORDER BY kept.seq DESC LIMIT $7
            ) AS ring
            WHERE ring.seq > $2 AND ring.device = $5 AND ring.slot = $6 AND ring.sent_at > now() - make_interval(secs => $8)
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
ORDER BY message.seq
