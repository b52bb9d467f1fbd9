-- The row stays locked until the end of the transaction.
INSERT INTO relation_heads AS head (principal, revision) VALUES ($1, 1)
ON CONFLICT (principal) DO UPDATE SET revision = head.revision + 1
RETURNING revision
