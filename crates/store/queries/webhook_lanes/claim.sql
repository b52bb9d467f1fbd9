-- Claims lanes that are due, longest due first. Rows that another worker is claiming are skipped, and the claimed ones are invisible
-- until the timeout or until this worker reports the outcome. Of each tenant at most $4 lanes are claimed, less those of $5 that
-- are served already ($6).
WITH served AS MATERIALIZED (
    SELECT * FROM unnest($5::uuid[], $6::bigint[]) AS served (tenant, lanes)
),

due AS MATERIALIZED (
    SELECT webhook, lane, tenant, next_attempt_at
    FROM webhook_lanes
    WHERE NOT is_listener AND next_attempt_at <= now()
        AND NOT EXISTS (SELECT FROM served WHERE served.tenant = webhook_lanes.tenant AND served.lanes >= $4)
    ORDER BY next_attempt_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
),

numbered AS (
    SELECT
        due.webhook,
        due.lane,
        row_number() OVER (PARTITION BY due.tenant ORDER BY due.next_attempt_at) + coalesce(served.lanes, 0) AS number
    FROM due
    LEFT JOIN served ON served.tenant = due.tenant
)

UPDATE webhook_lanes AS claimed
SET claim = $2, next_attempt_at = now() + make_interval(secs => $3)
FROM numbered
WHERE claimed.webhook = numbered.webhook AND claimed.lane = numbered.lane AND numbered.number <= $4
RETURNING claimed.webhook, claimed.lane, (SELECT count(*) FROM due) AS "due!"
