UPDATE runs SET lost_runner = $2 WHERE id = $1
