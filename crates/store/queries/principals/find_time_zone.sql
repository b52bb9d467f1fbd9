SELECT time_zone FROM principals WHERE id = $1
