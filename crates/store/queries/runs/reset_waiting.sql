UPDATE runs SET waiting_since = now(), lost_runner = NULL WHERE id = $1
