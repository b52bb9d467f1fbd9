-- Runners by state: those that hold a run, and those of the newest that asked for one lately.
WITH held AS (
    SELECT DISTINCT lease.runner FROM leases AS lease LIMIT $2
),

newest AS (
    SELECT runner.id, runner.draining_at, runner.seen_at
    FROM runners AS runner
    ORDER BY runner.id DESC
    LIMIT $2
),

active AS (
    SELECT runner.draining_at, true AS holds_run
    FROM held
    INNER JOIN runners AS runner ON runner.id = held.runner
    UNION ALL
    SELECT newest.draining_at, false AS holds_run
    FROM newest
    LEFT JOIN held ON held.runner = newest.id
    WHERE held.runner IS NULL AND newest.seen_at > now() - $1::float8 * interval '1 second'
)

SELECT
    count(*) FILTER (WHERE active.draining_at IS NULL AND active.holds_run) AS "busy!",
    count(*) FILTER (WHERE active.draining_at IS NULL AND NOT active.holds_run) AS "idle!",
    count(*) FILTER (WHERE active.draining_at IS NOT NULL) AS "draining!"
FROM active
