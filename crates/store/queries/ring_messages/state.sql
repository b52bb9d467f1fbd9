-- The oldest message that the ring of an inbox still has, and how many of those that it ever got are gone. $3: seconds that a message
-- can be read.
SELECT
    min(kept.seq) AS earliest,
    head.ring_total - count(kept.seq) AS "dropped!"
FROM inboxes AS head
LEFT JOIN LATERAL (
    SELECT ring.seq, ring.sent_at FROM ring_messages AS ring
    WHERE ring.inbox = head.id
    ORDER BY ring.seq DESC
    LIMIT $2
) AS kept ON kept.sent_at > now() - make_interval(secs => $3)
WHERE head.id = $1
GROUP BY head.ring_total
