-- Whether runs of a partition are left, and whether one of them is kept beyond a time. What should have been erased more
-- than a day ago waits for something, and may wait for long.
SELECT
    EXISTS (SELECT FROM runs AS run WHERE run.id >= $1 AND run.id < $2) AS "has_runs!",
    EXISTS (
        SELECT FROM runs AS run
        INNER JOIN sessions AS session ON session.id = run.session
        LEFT JOIN retention_policies AS policy ON policy.tenant = run.tenant
        WHERE run.id >= $1 AND run.id < $2
            AND (
                policy.tenant IS NULL
                OR session.active_run IS NOT NULL
                OR session.updated_at + make_interval(days => policy.history_days) > $3
                OR session.updated_at + make_interval(days => policy.history_days) < $4
            )
    ) AS "has_long_kept_runs!"
