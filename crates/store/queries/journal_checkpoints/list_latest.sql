-- The last checkpoint of each stream of one journal, by owner.
SELECT point.owner, point.seq, point.hash, point.signed_at AS "signed_at: Timestamp", point.key_id, point.signature
FROM journal_seal_heads AS head
INNER JOIN journal_checkpoints AS point
    ON point.journal = head.journal AND point.owner = head.owner AND point.seq = head.signed_seq
WHERE head.journal = $1 AND head.owner >= $2
ORDER BY head.owner
LIMIT $3
