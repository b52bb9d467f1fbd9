SELECT tenant FROM agents WHERE id = $1
