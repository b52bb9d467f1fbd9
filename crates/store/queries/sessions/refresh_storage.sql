-- What was evicted stays so, whatever a runner that has not heard of it says.
UPDATE sessions
SET
    storage_kind = 'directory',
    storage_size_bytes = $2,
    storage_files_count = $3,
    storage_sha256 = $4,
    storage_updated_at = now()
WHERE id = $1 AND storage_kind <> 'evicted'
