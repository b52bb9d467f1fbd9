-- The marker never moves back, and never beyond the version of the session. $5 says that the row of the reader is locked: nobody settles
-- the session at the same time.
INSERT INTO session_reads AS mark (session, principal, reader, version)
SELECT session.id, $2, $3, least($4, session.version) FROM sessions AS session WHERE session.id = $1
ON CONFLICT (session, principal, reader) DO UPDATE
SET
    version = greatest(mark.version, excluded.version),
    unread = mark.unread AND NOT ($5::boolean AND greatest(mark.version, excluded.version) = (
        SELECT session.version FROM sessions AS session WHERE session.id = $1
    ))
RETURNING version
