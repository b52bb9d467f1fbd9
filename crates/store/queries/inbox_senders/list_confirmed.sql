-- Senders that have messages in a range of an inbox: those to tell that it was confirmed.
SELECT sender.id AS "id!", sender.aid AS "aid!", known.newest AS "newest!"
FROM (
    SELECT message.sender, max(message.seq) AS newest
    FROM inbox_messages AS message
    WHERE message.inbox = $1 AND message.seq > greatest($2::bigint, $3::bigint - 1000) AND message.seq <= $3::bigint AND message.expires_at > now()
        AND ($4::bigint = 0 OR message.sender = $4)
    GROUP BY message.sender
    LIMIT $5
) AS known
INNER JOIN inboxes AS sender ON sender.id = known.sender
