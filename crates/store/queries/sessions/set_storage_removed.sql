UPDATE sessions SET storage_removed_at = now() WHERE id = $1 AND storage_kind = 'evicted'
