SELECT name FROM passwords WHERE principal = $1
