-- Marks the streams of one journal that are not sealed or, if $2, not signed. Reads all heads of the journal.
INSERT INTO unsealed_logs (journal, owner)
SELECT head.journal, head.owner
FROM journal_heads AS head
LEFT JOIN journal_seal_heads AS seal ON seal.journal = head.journal AND seal.owner = head.owner
WHERE head.journal = $1 AND (head.last_seq > coalesce(seal.sealed_seq, 0) OR ($2 AND seal.sealed_seq > seal.signed_seq))
ON CONFLICT DO NOTHING
