-- The durable messages of one sender in an inbox after a seq, without kinds that the reader cannot open. At least one, at most $4,
-- and at most $5 bytes of payloads.
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
        SELECT
            stored.inbox, stored.seq, stored.sender, stored.recipient, stored.message_id, stored.kind, stored.envelope_type,
            stored.previous_seq, 'fanout' AS mode, stored.sent_at, stored.payload
        FROM inbox_messages AS stored
        WHERE stored.inbox = $1 AND stored.sender = $2 AND stored.seq > $3 AND stored.expires_at > now() AND NOT stored.kind = ANY($6)
        ORDER BY stored.seq
        LIMIT $4
    ) AS found
) AS message
INNER JOIN inboxes AS sender ON sender.id = message.sender
INNER JOIN inboxes AS recipient ON recipient.id = coalesce(message.recipient, message.inbox)
WHERE message.place = 1 OR message.bytes <= $5
ORDER BY message.seq
