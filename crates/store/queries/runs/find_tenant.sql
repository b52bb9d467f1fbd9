SELECT tenant FROM runs WHERE id = $1
