-- The first command with a text gives the run its title.
UPDATE runs
SET commands = commands + 1, waiting_since = now(), title = coalesce(title, $2)
WHERE id = $1
RETURNING commands
