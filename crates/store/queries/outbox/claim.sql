-- Claims due effects, longest due first. Rows that another worker is claiming are skipped, and the claimed ones are
-- invisible until the timeout or until this worker reports the outcome. Selected by due time, never by a cursor over
-- ids: a transaction that commits late may have an early id.
WITH due AS MATERIALIZED (
    SELECT id
    FROM outbox
    WHERE kind = $1 AND dead_at IS NULL AND next_attempt_at <= now() AND attempts < $2
    ORDER BY next_attempt_at
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
UPDATE outbox
SET attempts = outbox.attempts + 1, claim = $4, next_attempt_at = now() + make_interval(secs => $5)
FROM due
WHERE outbox.id = due.id
RETURNING outbox.id, outbox.body, outbox.attempts
