-- Locks the heads of inboxes, and finds what is known of each message to send. A row without a place is a head.
SELECT
    place AS "place?",
    locked_inbox AS "locked_inbox?",
    last_seq AS "last_seq?",
    locked_at AS "locked_at?: SqlTimestamp",
    head_seq AS "head_seq?",
    seq AS "seq?",
    sent_at AS "sent_at?: SqlTimestamp",
    kind AS "kind?",
    payload AS "payload?"
FROM lock_inboxes_and_find_sent($1, $2, $3)
