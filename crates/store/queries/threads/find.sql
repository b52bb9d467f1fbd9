SELECT session FROM threads WHERE agent = $1 AND owner = $2 AND thread = $3
