-- One that no other replica works on. The row stays locked until the end of the transaction.
SELECT agent, version, after, began_after, has_wrapped FROM relation_checks
WHERE ended_at IS NULL
ORDER BY random()
LIMIT 1
FOR UPDATE SKIP LOCKED
