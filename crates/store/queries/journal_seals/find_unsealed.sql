-- Marked streams of one journal with unsealed entries or, if $4, with sealed entries that are not signed; by owner.
SELECT head.owner, head.last_seq
FROM unsealed_logs AS log
INNER JOIN journal_heads AS head ON head.journal = log.journal AND head.owner = log.owner
LEFT JOIN journal_seal_heads AS seal ON seal.journal = log.journal AND seal.owner = log.owner
WHERE
    log.journal = $1 AND log.owner >= $2
    AND (head.last_seq > coalesce(seal.sealed_seq, 0) OR ($4 AND seal.sealed_seq > seal.signed_seq))
ORDER BY log.owner
LIMIT $3
