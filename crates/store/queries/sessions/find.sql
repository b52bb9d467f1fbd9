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
LEFT JOIN runs AS first_run ON first_run.session = session.id AND first_run.ordinal = 1
LEFT JOIN session_reads AS session_read
    ON session_read.session = session.id AND session_read.principal = $2 AND session_read.reader = $3
WHERE session.id = $1
