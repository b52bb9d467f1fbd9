UPDATE webhooks SET disabled_at = now(), disabled_reason = $3 WHERE tenant = $1 AND id = $2 AND disabled_at IS NULL
