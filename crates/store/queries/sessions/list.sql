-- The sessions of a principal's tenants, newest first: all of them, or only those that are running or unread.
SELECT
    session.id,
    session.tenant,
    first_run.title AS "title?",
    session.project,
    session.backend_profile,
    session.created_by,
    session.created_at AS "created_at: Timestamp",
    session.thread_id,
    session.version,
    session.runs,
    session.running,
    session.active_run,
    session.active_command,
    session.last_run,
    session.storage_kind,
    session.updated_at AS "updated_at: Timestamp",
    coalesce(session_read.version, 0) AS "read_version!"
FROM sessions AS session
INNER JOIN memberships AS membership ON membership.tenant = session.tenant AND membership.principal = $1
LEFT JOIN runs AS first_run ON first_run.session = session.id AND first_run.ordinal = 1
LEFT JOIN session_reads AS session_read
    ON session_read.session = session.id AND session_read.principal = $1 AND session_read.reader = $2
WHERE session.id < $3
    AND ($4::uuid IS NULL OR session.tenant = $4)
    AND ($5::text IS NULL OR session.backend_profile = $5)
    AND ($6::boolean OR session.running OR session.version > coalesce(session_read.version, 0))
    -- Canary turns of provider profiles are not conversations: they appear in the full list only.
    AND ($6::boolean OR NOT EXISTS (
        SELECT 1 FROM profile_validations AS validation WHERE validation.run = session.last_run
    ))
ORDER BY session.id DESC
LIMIT $7
