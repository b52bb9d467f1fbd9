-- Settles sessions for a reader whose row is locked: those that changed since the last time, and some before the settled ones. If more
-- than $4 unread ones changed, it starts again from the newest session. It passes at most $5 older sessions, at most $6 of them
-- unread, and ends at one that is read: below, all may be unread, and a list finds those without marks.
-- A transaction that is not visible here has a number that is not below the snapshot's first running one, so that nothing is missed.
WITH reader AS MATERIALIZED (
    SELECT
        settled.settled_before,
        settled.settled_from,
        pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS first_running,
        pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next_transaction
    FROM session_readers AS settled
    WHERE settled.tenant = $1 AND settled.principal = $2 AND settled.reader = $3
),

changed AS MATERIALIZED (
    SELECT recent.id
    FROM reader
    CROSS JOIN LATERAL (
        SELECT session.id, session.version, session.last_run
        FROM sessions AS session
        WHERE session.tenant = $1
            AND session.changed_in BETWEEN reader.settled_before AND reader.next_transaction
        OFFSET 0
    ) AS recent
    WHERE recent.id >= reader.settled_from
        AND recent.version > coalesce((
            SELECT mark.version FROM session_reads AS mark
            WHERE mark.session = recent.id AND mark.principal = $2 AND mark.reader = $3
        ), 0)
        AND coalesce((SELECT false FROM profile_validations AS validation WHERE validation.run = recent.last_run), true)
    LIMIT $4::bigint + 1
),

start AS MATERIALIZED (
    SELECT
        reader.first_running,
        CASE
            WHEN (SELECT count(*) FROM changed) > $4::bigint THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff'
            ELSE reader.settled_from
        END AS settled_from
    FROM reader
),

older AS MATERIALIZED (
    SELECT before.id, before.unread, count(*) FILTER (WHERE before.unread) OVER (ORDER BY before.id DESC) AS unread_above
    FROM start
    CROSS JOIN LATERAL (
        SELECT
            session.id,
            session.version > coalesce((
                SELECT mark.version FROM session_reads AS mark
                WHERE mark.session = session.id AND mark.principal = $2 AND mark.reader = $3
            ), 0)
            AND coalesce((SELECT false FROM profile_validations AS validation WHERE validation.run = session.last_run), true) AS unread
        FROM sessions AS session
        -- Rows are compared, so that the planner does not read in the order of all ids, with the sessions of other tenants.
        WHERE (session.tenant, session.id) >= ($1, '00000000-0000-0000-0000-000000000000')
            AND (session.tenant, session.id) < ($1, start.settled_from)
        ORDER BY session.tenant DESC, session.id DESC
        LIMIT $5::bigint
    ) AS before
),

finish AS MATERIALIZED (
    SELECT
        start.first_running,
        CASE
            WHEN passed.sessions < $5::bigint AND passed.unread <= $6::bigint THEN '00000000-0000-0000-0000-000000000000'
            ELSE coalesce(passed.last_read, start.settled_from)
        END AS settled_from
    FROM start
    CROSS JOIN (
        SELECT
            count(*) AS sessions,
            count(*) FILTER (WHERE older.unread) AS unread,
            -- There is no min(uuid).
            (array_agg(older.id ORDER BY older.id) FILTER (WHERE NOT older.unread AND older.unread_above <= $6::bigint))[1]
                AS last_read
        FROM older
    ) AS passed
),

kept AS MATERIALIZED (
    -- A session that is being erased is waited for, and left out.
    SELECT session.id
    FROM sessions AS session
    WHERE session.id = ANY (ARRAY(
        SELECT changed.id FROM changed INNER JOIN finish ON changed.id >= finish.settled_from
        UNION
        SELECT older.id FROM older INNER JOIN finish ON older.id >= finish.settled_from WHERE older.unread
    ))
    ORDER BY session.id
    FOR KEY SHARE
),

marked AS (
    INSERT INTO session_reads (session, principal, reader, version, unread)
    SELECT kept.id, $2, $3, 0, true FROM kept
    ON CONFLICT (session, principal, reader) DO UPDATE SET unread = true
)

UPDATE session_readers AS settled
SET settled_before = finish.first_running, settled_from = finish.settled_from
FROM finish
WHERE settled.tenant = $1 AND settled.principal = $2 AND settled.reader = $3
