INSERT INTO journal_heads AS head (journal, owner, epoch) VALUES ($1, $2, 1)
ON CONFLICT (journal, owner) DO UPDATE SET epoch = head.epoch + 1
RETURNING epoch
