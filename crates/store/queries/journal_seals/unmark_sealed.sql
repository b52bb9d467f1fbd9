-- Removes the marks of streams of one journal that are sealed and, if $2, signed: replicas of an earlier version seal without removing
-- marks. As in unmark.sql, not while somebody appends.
WITH sealed AS (
    SELECT log.journal, log.owner
    FROM unsealed_logs AS log
    INNER JOIN journal_heads AS head ON head.journal = log.journal AND head.owner = log.owner
    INNER JOIN journal_seal_heads AS seal ON seal.journal = log.journal AND seal.owner = log.owner
    WHERE log.journal = $1 AND head.last_seq <= seal.sealed_seq AND NOT ($2 AND seal.sealed_seq > seal.signed_seq)
    FOR UPDATE OF head SKIP LOCKED
)

DELETE FROM unsealed_logs AS log
USING sealed
WHERE log.journal = sealed.journal AND log.owner = sealed.owner
