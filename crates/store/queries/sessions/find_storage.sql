SELECT
    storage_kind,
    storage_size_bytes,
    storage_files_count,
    storage_sha256,
    storage_updated_at AS "storage_updated_at: Timestamp",
    storage_evicted_at AS "storage_evicted_at: Timestamp",
    storage_removed_at AS "storage_removed_at: Timestamp",
    active_run
FROM sessions
WHERE id = $1
