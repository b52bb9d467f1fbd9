UPDATE sessions SET thread_id = $2 WHERE id = $1
