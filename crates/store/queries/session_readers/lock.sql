-- Locks the row of a reader in the tenant of a session, or creates it. None if the reader is not a member of the tenant. Nothing is
-- settled for a new reader, or one from another database cluster.
INSERT INTO session_readers AS reader (tenant, principal, reader, system_identifier, settled_before, settled_from)
SELECT
    session.tenant,
    $2,
    $3,
    (SELECT system_identifier FROM pg_control_system()),
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
    'ffffffff-ffff-ffff-ffff-ffffffffffff'
FROM sessions AS session
INNER JOIN memberships AS membership ON membership.tenant = session.tenant AND membership.principal = $2
WHERE session.id = $1
ON CONFLICT (tenant, principal, reader) DO UPDATE
SET
    system_identifier = excluded.system_identifier,
    settled_before = CASE
        WHEN reader.system_identifier = excluded.system_identifier THEN reader.settled_before
        ELSE excluded.settled_before
    END,
    settled_from = CASE
        WHEN reader.system_identifier = excluded.system_identifier THEN reader.settled_from
        ELSE excluded.settled_from
    END
RETURNING tenant
