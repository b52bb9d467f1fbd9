SELECT id FROM agents WHERE tenant = $1 AND is_default
