-- Moves a cursor forward, never back, and not past the end of the inbox. Returns where it was and where it is.
WITH target AS (
    SELECT least($5, head.last_seq) AS seq FROM inboxes AS head WHERE head.id = $1
),

earlier AS (
    SELECT cursor.ack_seq
    FROM inbox_cursors AS cursor
    WHERE cursor.inbox = $1 AND cursor.device = $2 AND cursor.slot = $3 AND cursor.sender = $4
),

moved AS (
    INSERT INTO inbox_cursors AS cursor (inbox, device, slot, sender, ack_seq)
    SELECT $1, $2, $3, $4, target.seq FROM target
    ON CONFLICT (inbox, device, slot, sender) DO UPDATE SET ack_seq = greatest(cursor.ack_seq, excluded.ack_seq)
    RETURNING ack_seq
)

SELECT coalesce((SELECT ack_seq FROM earlier), 0) AS "earlier!", (SELECT ack_seq FROM moved) AS "ack_seq!"
