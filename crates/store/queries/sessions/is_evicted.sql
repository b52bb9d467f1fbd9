SELECT storage_kind = 'evicted' AS "is_evicted!" FROM sessions WHERE id = $1
