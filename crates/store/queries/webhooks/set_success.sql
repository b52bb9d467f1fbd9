UPDATE webhooks SET last_success_at = now() WHERE tenant = $1 AND id = $2
