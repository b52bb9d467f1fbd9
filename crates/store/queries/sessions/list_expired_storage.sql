-- Sessions whose storage has expired and that have no active run.
SELECT
    id,
    tenant
FROM sessions
WHERE storage_kind = 'directory' AND active_run IS NULL
    AND coalesce(expires_at, updated_at + $1 * interval '1 millisecond') <= now()
ORDER BY updated_at
LIMIT $2
