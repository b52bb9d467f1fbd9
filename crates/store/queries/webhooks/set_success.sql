UPDATE webhooks SET last_success_at = now(), failing_since = NULL WHERE tenant = $1 AND id = $2
