-- Runs of a tenant with a pending command and no runner, oldest first. Starts from the pending commands: there are many
-- more open runs without any.
SELECT run.id
FROM commands AS command
INNER JOIN runs AS run ON run.id = command.run
WHERE command.state = 'pending'
    AND run.tenant = $1
    AND run.state = 'open'
    AND ($2::text IS NULL OR run.backend_profile = $2)
    AND run.backend_profile = ANY ($3)
    AND NOT EXISTS (SELECT 1 FROM leases AS lease WHERE lease.run = run.id)
GROUP BY run.id
ORDER BY min(command.created_at)
LIMIT $4
