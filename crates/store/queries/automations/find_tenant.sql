SELECT tenant FROM automations WHERE id = $1
