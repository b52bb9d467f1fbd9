SELECT
    id,
    tenant,
    url,
    events,
    description,
    created_by,
    created_at AS "created_at: Timestamp",
    disabled_at AS "disabled_at: Timestamp",
    disabled_reason,
    previous_secret_ends_at AS "previous_secret_ends_at: Timestamp",
    last_success_at AS "last_success_at: Timestamp",
    last_failure_at AS "last_failure_at: Timestamp",
    last_failure_event,
    last_failure_attempt,
    last_failure_message,
    last_failure_is_final
FROM webhooks
WHERE tenant = $1
ORDER BY id
LIMIT $2
