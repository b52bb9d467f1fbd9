UPDATE runs SET waiting_since = now() WHERE id = $1
