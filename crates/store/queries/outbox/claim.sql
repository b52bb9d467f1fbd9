-- Claims due effects, longest due first. Rows that another worker is claiming are skipped, and the claimed ones are
-- invisible until the timeout or until this worker reports the outcome. Selected by due time, never by a cursor over
-- ids: a transaction that commits late may have an early id.
--
-- Of each tenant at most $6 effects are claimed, less those of $7 that are performed already ($8). A tenant that has
-- reached the limit is passed over, so that its backlog delays nobody else.
WITH performed AS MATERIALIZED (
    SELECT * FROM unnest($7::uuid[], $8::bigint[]) AS performed (tenant, effects)
),
due AS MATERIALIZED (
    SELECT id, tenant, next_attempt_at
    FROM outbox
    WHERE kind = $1 AND dead_at IS NULL AND next_attempt_at <= now() AND attempts < $2
        AND NOT EXISTS (SELECT FROM performed WHERE performed.tenant = outbox.tenant AND effects >= $6)
    ORDER BY next_attempt_at
    LIMIT $3
    FOR UPDATE SKIP LOCKED
),
numbered AS (
    SELECT
        due.id,
        due.tenant,
        row_number() OVER (PARTITION BY due.tenant ORDER BY due.next_attempt_at)
        + coalesce(performed.effects, 0) AS number
    FROM due
    LEFT JOIN performed ON performed.tenant = due.tenant
)
UPDATE outbox
SET attempts = outbox.attempts + 1, claim = $4, next_attempt_at = now() + make_interval(secs => $5)
FROM numbered
WHERE outbox.id = numbered.id AND (numbered.tenant IS NULL OR numbered.number <= $6)
RETURNING
    outbox.id, outbox.tenant, outbox.body, outbox.attempts, (SELECT count(*) FROM due) AS "due!"
