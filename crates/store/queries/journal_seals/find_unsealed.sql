-- Streams of one journal with unsealed entries or, if $4, with sealed entries that are not signed; by owner. Scans the
-- heads of this journal only: it is the first column of both keys.
SELECT head.owner, head.last_seq
FROM journal_heads AS head
LEFT JOIN journal_seal_heads AS seal ON seal.journal = head.journal AND seal.owner = head.owner
WHERE
    head.journal = $1 AND head.owner >= $2
    AND (head.last_seq > coalesce(seal.sealed_seq, 0) OR ($4 AND seal.sealed_seq > seal.signed_seq))
ORDER BY head.owner
LIMIT $3
