WITH old AS (
    SELECT runner.id FROM runners AS runner
    WHERE runner.id > $1
        AND runner.id < journal_run_bound($2)
        AND runner.seen_at < $2
        AND NOT EXISTS (SELECT FROM leases AS lease WHERE lease.runner = runner.id)
    ORDER BY runner.id
    LIMIT $3
)
DELETE FROM runners USING old WHERE runners.id = old.id
RETURNING old.id AS "id!"
