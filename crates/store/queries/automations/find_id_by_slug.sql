SELECT id FROM automations WHERE tenant = $1 AND slug = $2
