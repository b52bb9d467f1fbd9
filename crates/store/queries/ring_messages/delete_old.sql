DELETE FROM ring_messages
WHERE (inbox, seq) IN (
    SELECT old.inbox, old.seq FROM ring_messages AS old WHERE old.sent_at < $1 ORDER BY old.sent_at LIMIT $2
)
