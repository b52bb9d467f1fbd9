-- The newest validation of each profile of a tenant.
SELECT DISTINCT ON (profile)
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
WHERE tenant = $1 AND profile = ANY($2)
ORDER BY profile, id DESC
