-- Pending validations whose turn has ended or whose deadline has passed.
SELECT validation.id
FROM profile_validations AS validation
INNER JOIN commands AS command ON command.id = validation.command
WHERE validation.status = 'pending' AND (command.ended_at IS NOT NULL OR validation.deadline_at <= now())
ORDER BY validation.id
LIMIT $1
