-- The sessions of a principal's tenants that are running or unread, newest first. Those that are settled for the reader (see
-- `session_readers`) are found by their mark; the others are read: those that changed since, of which there are at most $7, and those
-- before the settled ones. Canary turns of provider profiles are not conversations: they are in the full list only.
WITH reader AS MATERIALIZED (
    SELECT
        membership.tenant,
        coalesce(settled.settled_before, 1) AS changed_from,
        CASE WHEN settled.tenant IS NULL THEN 0 ELSE current.next_transaction END AS changed_to,
        coalesce(settled.settled_from, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS settled_from
    FROM memberships AS membership
    CROSS JOIN (
        SELECT
            (SELECT system_identifier FROM pg_control_system()) AS system_identifier,
            pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next_transaction
    ) AS current
    LEFT JOIN session_readers AS settled
        ON settled.tenant = membership.tenant AND settled.principal = $1 AND settled.reader = $2
        AND settled.system_identifier = current.system_identifier
        AND (
            SELECT count(*) FROM (
                SELECT FROM sessions AS changed
                WHERE changed.tenant = settled.tenant
                    AND changed.changed_in BETWEEN settled.settled_before AND current.next_transaction
                LIMIT $7::bigint + 1
            ) AS few
        ) <= $7::bigint
    WHERE membership.principal = $1 AND ($4::uuid IS NULL OR membership.tenant = $4)
),

candidate AS (
    SELECT running.id
    FROM reader
    CROSS JOIN LATERAL (
        SELECT listed.id
        FROM sessions AS listed
        WHERE listed.tenant = reader.tenant
            AND listed.running
            AND listed.id < $3
            AND ($5::text IS NULL OR listed.backend_profile = $5)
            AND coalesce((SELECT false FROM profile_validations AS validation WHERE validation.run = listed.last_run), true)
        ORDER BY listed.id DESC
        LIMIT $6
    ) AS running
    UNION
    SELECT marked.session
    FROM (
        SELECT mark.session
        FROM session_reads AS mark
        CROSS JOIN LATERAL (
            SELECT FROM sessions AS listed
            WHERE listed.id = mark.session
                AND listed.tenant IN (SELECT reader.tenant FROM reader)
                AND listed.version > mark.version
                AND ($5::text IS NULL OR listed.backend_profile = $5)
                AND coalesce((SELECT false FROM profile_validations AS validation WHERE validation.run = listed.last_run), true)
            LIMIT 1
        ) AS listed
        WHERE mark.principal = $1 AND mark.reader = $2 AND mark.unread AND mark.session < $3
        ORDER BY mark.session DESC
        LIMIT $6
    ) AS marked
    UNION
    SELECT changed.id
    FROM reader
    CROSS JOIN LATERAL (
        SELECT listed.id
        FROM sessions AS listed
        WHERE listed.tenant = reader.tenant
            AND listed.changed_in BETWEEN reader.changed_from AND reader.changed_to
            AND listed.id < $3
        OFFSET 0
    ) AS changed
    UNION
    SELECT older.id
    FROM reader
    CROSS JOIN LATERAL (
        SELECT listed.id
        FROM sessions AS listed
        -- Both comparisons say the same. The second keeps the planner from reading in the order of all ids, with other tenants.
        WHERE listed.tenant = reader.tenant
            AND listed.id < least(reader.settled_from, $3)
            AND (listed.tenant, listed.id) < (reader.tenant, least(reader.settled_from, $3))
            AND listed.version > coalesce((
                SELECT mark.version FROM session_reads AS mark
                WHERE mark.session = listed.id AND mark.principal = $1 AND mark.reader = $2
            ), 0)
            AND ($5::text IS NULL OR listed.backend_profile = $5)
            AND coalesce((SELECT false FROM profile_validations AS validation WHERE validation.run = listed.last_run), true)
        ORDER BY listed.id DESC
        LIMIT $6
    ) AS older
)

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
    SELECT listed.*
    FROM candidate
    CROSS JOIN LATERAL (
        SELECT found.*, coalesce((
            SELECT mark.version FROM session_reads AS mark
            WHERE mark.session = found.id AND mark.principal = $1 AND mark.reader = $2
        ), 0) AS read_version
        FROM sessions AS found
        WHERE found.id = candidate.id
        LIMIT 1
    ) AS listed
    WHERE (listed.running OR listed.version > listed.read_version)
        AND ($5::text IS NULL OR listed.backend_profile = $5)
        AND coalesce((SELECT false FROM profile_validations AS validation WHERE validation.run = listed.last_run), true)
    ORDER BY listed.id DESC
    LIMIT $6
) AS session
LEFT JOIN LATERAL (
    SELECT run.title FROM runs AS run WHERE run.session = session.id AND run.ordinal = 1 LIMIT 1
) AS first_run ON true
ORDER BY session.id DESC
