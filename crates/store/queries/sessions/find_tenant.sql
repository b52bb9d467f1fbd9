SELECT tenant FROM sessions WHERE id = $1
