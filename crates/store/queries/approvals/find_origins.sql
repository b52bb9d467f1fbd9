SELECT command.id AS command, command.created_by AS sender, run.created_by AS creator
FROM commands AS command
JOIN runs AS run ON run.id = command.run
WHERE command.id = ANY($1)
