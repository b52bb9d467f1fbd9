-- All sessions of a principal's tenants, newest first. What only the page needs is joined after the limit.
SELECT
    session.id AS "id!",
    session.tenant AS "tenant!",
    first_run.title AS "title?",
    session.project AS "project!",
    session.backend_profile AS "backend_profile!",
    session.created_by AS "created_by!",
    session.created_at AS "created_at!: Timestamp",
    session.thread_id AS "thread_id?",
    session.version AS "version!",
    session.runs AS "runs!",
    session.running AS "running!",
    session.active_run AS "active_run?",
    session.active_command AS "active_command?",
    session.last_run AS "last_run?",
    session.storage_kind AS "storage_kind!",
    session.updated_at AS "updated_at!: Timestamp",
    coalesce(session_read.version, 0) AS "read_version!"
FROM (
    SELECT listed.*
    FROM sessions AS listed
    INNER JOIN memberships AS membership ON membership.tenant = listed.tenant AND membership.principal = $1
    WHERE listed.id < $3
        AND ($4::uuid IS NULL OR listed.tenant = $4)
        AND ($5::text IS NULL OR listed.backend_profile = $5)
    ORDER BY listed.id DESC
    LIMIT $6
) AS session
LEFT JOIN runs AS first_run ON first_run.session = session.id AND first_run.ordinal = 1
LEFT JOIN session_reads AS session_read
    ON session_read.session = session.id AND session_read.principal = $1 AND session_read.reader = $2
ORDER BY session.id DESC
