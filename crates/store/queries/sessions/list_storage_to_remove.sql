SELECT id
FROM sessions
WHERE storage_kind = 'evicted' AND storage_removed_at IS NULL AND id > $1
ORDER BY id
LIMIT $2
