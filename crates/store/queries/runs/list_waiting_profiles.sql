SELECT DISTINCT run.tenant, run.backend_profile
FROM commands AS command
INNER JOIN runs AS run ON run.id = command.run
WHERE command.state = 'pending'
    AND run.state = 'open'
    AND run.waiting_since < now() - $1::float8 * interval '1 second'
    AND NOT EXISTS (SELECT 1 FROM leases AS lease WHERE lease.run = run.id)
LIMIT $2
