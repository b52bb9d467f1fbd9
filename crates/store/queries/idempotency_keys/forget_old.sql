-- Some at a time: a long arrears must not hold a transaction open. What another replica is at is passed over.
DELETE FROM idempotency_keys
WHERE (principal, key) IN (
    SELECT principal, key
    FROM idempotency_keys
    WHERE created_at < now() - interval '24 hours'
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
