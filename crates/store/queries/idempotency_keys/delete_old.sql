-- In batches: a large backlog must not hold a transaction open. Rows locked by another replica are skipped.
WITH old AS MATERIALIZED (
    SELECT principal, key
    FROM idempotency_keys
    WHERE created_at < now() - interval '24 hours'
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
DELETE FROM idempotency_keys USING old
WHERE idempotency_keys.principal = old.principal AND idempotency_keys.key = old.key
