-- In the order of their ids. The rows stay locked until the end of the transaction.
INSERT INTO relation_heads AS head (principal, revision)
SELECT told.principal, 1 FROM unnest($1::uuid[]) AS told (principal) ORDER BY told.principal
ON CONFLICT (principal) DO UPDATE SET revision = head.revision + 1
RETURNING principal, revision
