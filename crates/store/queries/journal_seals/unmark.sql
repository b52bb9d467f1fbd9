-- Removes the mark of a stream that is sealed up to $3, unless somebody appends to it now: that writer holds the lock of the
-- head, and found the mark already there.
WITH head AS (
    SELECT locked.journal, locked.owner
    FROM journal_heads AS locked
    WHERE locked.journal = $1 AND locked.owner = $2 AND locked.last_seq <= $3
    FOR UPDATE SKIP LOCKED
)

DELETE FROM unsealed_logs AS log
USING head
WHERE log.journal = head.journal AND log.owner = head.owner
