-- Evicted storage stays evicted, even if a runner that does not know it yet reports a summary.
UPDATE sessions
SET
    storage_kind = 'directory',
    storage_size_bytes = $2,
    storage_files_count = $3,
    storage_sha256 = $4,
    storage_updated_at = now()
WHERE id = $1 AND storage_kind <> 'evicted'
