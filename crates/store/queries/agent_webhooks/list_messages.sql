-- The durable messages of an inbox after a seq, without copies of own ones: at least one, at most $3, and at most $4 bytes of payloads.
SELECT
    message.seq AS "seq!", message.message_id AS "message_id!", message.kind AS "kind!",
    message.sent_at AS "sent_at!: Timestamp", message.payload, sender.aid AS "sender!", recipient.aid AS "recipient!"
FROM (
    SELECT
        found.*,
        sum(octet_length(coalesce(found.payload, ''))) OVER (ORDER BY found.seq) AS bytes,
        row_number() OVER (ORDER BY found.seq) AS place
    FROM (
        SELECT stored.inbox, stored.seq, stored.sender, stored.message_id, stored.kind, stored.sent_at, stored.payload
        FROM inbox_messages AS stored
        WHERE stored.inbox = $1 AND stored.seq > $2 AND stored.expires_at > now() AND NOT stored.kind = ANY($5)
        ORDER BY stored.seq
        LIMIT $3
    ) AS found
) AS message
INNER JOIN inboxes AS sender ON sender.id = message.sender
INNER JOIN inboxes AS recipient ON recipient.id = message.inbox
WHERE message.place = 1 OR message.bytes <= $4
ORDER BY message.seq
