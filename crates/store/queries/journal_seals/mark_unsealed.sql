-- Marks the streams of one page of a journal, by owner, that are not sealed or, if $2, not signed. Returns the last owner of the page
-- if the page is full.
WITH page AS (
    SELECT head.journal, head.owner, head.last_seq
    FROM journal_heads AS head
    WHERE head.journal = $1 AND head.owner >= $3
    ORDER BY head.owner
    LIMIT $4
),
marked AS (
    INSERT INTO unsealed_logs (journal, owner)
    SELECT page.journal, page.owner
    FROM page
    LEFT JOIN journal_seal_heads AS seal ON seal.journal = page.journal AND seal.owner = page.owner
    WHERE page.last_seq > coalesce(seal.sealed_seq, 0) OR ($2 AND seal.sealed_seq > seal.signed_seq)
    ON CONFLICT DO NOTHING
)
SELECT page.owner FROM page ORDER BY page.owner OFFSET $4 - 1
