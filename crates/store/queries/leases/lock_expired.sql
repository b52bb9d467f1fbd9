-- Locks the head of one run whose lease expired more than $1 seconds ago. Runs that somebody else has locked are skipped, so
-- that workers and replicas take different ones. The lease may have changed: read it again under the lock.
SELECT lease.run, head.last_seq, head.epoch
FROM leases AS lease
INNER JOIN journal_heads AS head ON head.journal = $2 AND head.owner = lease.run
WHERE lease.expires_at < now() - $1::float8 * interval '1 second' AND lease.run <> ALL ($3)
ORDER BY lease.expires_at
LIMIT 1
FOR UPDATE OF head SKIP LOCKED
