-- What a recall has to know of messages: those of the caller, else one of somebody else. The time is that of PostgreSQL, which has
-- stamped the messages.
SELECT
    asked.message_id AS "asked!",
    found.inbox AS "inbox?",
    found.seq AS "seq?",
    found.sender AS "sender?",
    found.kind AS "kind?",
    found.sent_at AS "sent_at?: SqlTimestamp",
    found.recalled_at IS NOT NULL AS "is_recalled!",
    found.mode AS "mode?",
    now() AS "now!: SqlTimestamp"
FROM unnest($1::text[]) AS asked (message_id)
LEFT JOIN LATERAL (
    (
        SELECT message.inbox, message.seq, message.sender, message.kind, message.sent_at, message.recalled_at, 'fanout' AS mode
        FROM inbox_messages AS message
        WHERE message.message_id = asked.message_id AND message.sender = $2 AND message.expires_at > now()
        LIMIT 10
    )
    UNION ALL
    (
        SELECT message.inbox, message.seq, message.sender, message.kind, message.sent_at, message.recalled_at, 'fanout'
        FROM inbox_messages AS message
        WHERE message.message_id = asked.message_id AND message.sender <> $2 AND message.expires_at > now()
        LIMIT 1
    )
) AS found ON true
