SELECT
    id,
    tenant,
    profile,
    resource_version,
    run,
    command,
    created_by,
    created_at AS "created_at: Timestamp",
    deadline_at AS "deadline_at: Timestamp",
    status,
    failure_kind,
    failure_message,
    settled_at AS "settled_at: Timestamp"
FROM profile_validations
WHERE id = $1
