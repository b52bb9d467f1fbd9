-- The sessions of a principal's tenants, newest first: all of them, or only those that are running or unread. What only the page
-- needs is joined after the limit.
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
    session.read_version AS "read_version!"
FROM (
    SELECT listed.*, coalesce(session_read.version, 0) AS read_version
    FROM sessions AS listed
    INNER JOIN memberships AS membership ON membership.tenant = listed.tenant AND membership.principal = $1
    LEFT JOIN session_reads AS session_read
        ON session_read.session = listed.id AND session_read.principal = $1 AND session_read.reader = $2
    WHERE listed.id < $3
        AND ($4::uuid IS NULL OR listed.tenant = $4)
        AND ($5::text IS NULL OR listed.backend_profile = $5)
        AND ($6::boolean OR listed.running OR listed.version > coalesce(session_read.version, 0))
        -- Canary turns of provider profiles are not conversations: they appear in the full list only.
        AND ($6::boolean OR NOT EXISTS (
            SELECT 1 FROM profile_validations AS validation WHERE validation.run = listed.last_run
        ))
    ORDER BY listed.id DESC
    LIMIT $7
) AS session
LEFT JOIN runs AS first_run ON first_run.session = session.id AND first_run.ordinal = 1
ORDER BY session.id DESC
