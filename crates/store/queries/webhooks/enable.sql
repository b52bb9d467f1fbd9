UPDATE webhooks SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL
WHERE tenant = $1 AND id = $2 AND disabled_at IS NOT NULL
