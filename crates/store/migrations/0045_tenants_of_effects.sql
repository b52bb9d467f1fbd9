-- The tenant whose effects share a limit of those that are performed at once. Null for effects without a limit, and for
-- those that older replicas enqueue.
ALTER TABLE outbox ADD COLUMN tenant uuid;
