-- Evicted storage stays evicted, even if a runner that does not know it yet reports a summary. A summary need not be on the disk: the
-- next turn brings another.
UPDATE sessions
SET
    storage_kind = 'directory',
    storage_size_bytes = $2,
    storage_files_count = $3,
    storage_sha256 = $4,
    storage_updated_at = now()
WHERE id = $1 AND storage_kind <> 'evicted' AND set_config('synchronous_commit', 'off', true) IS NOT NULL
RETURNING
    storage_kind,
    storage_size_bytes,
    storage_files_count,
    storage_sha256,
    storage_updated_at AS "storage_updated_at: Timestamp",
    storage_evicted_at AS "storage_evicted_at: Timestamp",
    storage_removed_at AS "storage_removed_at: Timestamp",
    active_run
