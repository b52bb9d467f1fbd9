UPDATE runs SET commands = commands + 1, waiting_since = now() WHERE id = $1 RETURNING commands
