-- Sessions whose storage has expired, or that their tenant keeps no longer, and that have no active run.
SELECT
    session.id,
    session.tenant
FROM sessions AS session
LEFT JOIN retention_policies AS policy ON policy.tenant = session.tenant
WHERE session.storage_kind = 'directory' AND session.active_run IS NULL
    AND least(
        coalesce(session.expires_at, session.updated_at + $1 * interval '1 millisecond'),
        session.updated_at + make_interval(days => policy.history_days)
    ) <= now()
ORDER BY session.updated_at
LIMIT $2
