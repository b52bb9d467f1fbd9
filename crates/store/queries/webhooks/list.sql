SELECT
    webhooks.id,
    webhooks.tenant,
    webhooks.url,
    webhooks.events,
    webhooks.description,
    webhooks.created_by,
    webhooks.created_at AS "created_at: Timestamp",
    webhooks.disabled_at AS "disabled_at: Timestamp",
    webhooks.disabled_reason,
    webhooks.previous_secret_ends_at AS "previous_secret_ends_at: Timestamp",
    webhooks.last_success_at AS "last_success_at: Timestamp",
    webhooks.last_failure_at AS "last_failure_at: Timestamp",
    webhooks.last_failure_event,
    webhooks.last_failure_attempt,
    webhooks.last_failure_message,
    webhooks.last_failure_is_final,
    webhooks.failing_since AS "failing_since: Timestamp",
    followed.agent AS "agent?",
    followed.polled_at AS "polled_at?: Timestamp"
FROM webhooks
LEFT JOIN agent_webhooks AS followed ON followed.webhook = webhooks.id
WHERE webhooks.tenant = $1
ORDER BY webhooks.id
LIMIT $2
