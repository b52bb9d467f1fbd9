-- The runners of a tenant, newest first: one of them, all, or those that hold a run or were seen lately.
SELECT
    runner.id,
    runner.name,
    runner.backend_profiles,
    runner.registered_at AS "registered_at: Timestamp",
    runner.seen_at AS "seen_at: Timestamp",
    runner.draining_at IS NOT NULL AS "is_draining!",
    lease.run AS "run?"
FROM runners AS runner
LEFT JOIN leases AS lease ON lease.runner = runner.id
WHERE runner.tenant = $1
    AND ($2::uuid IS NULL OR runner.id = $2)
    AND ($3::float8 IS NULL OR lease.run IS NOT NULL OR runner.seen_at > now() - $3 * interval '1 second')
ORDER BY runner.id DESC
LIMIT $4
