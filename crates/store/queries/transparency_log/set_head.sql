-- A head never gets smaller or older.
UPDATE transparency_log
SET head_size = $1, head_root = $2, head_at = $3, head_signature = $4
WHERE head_size IS NULL OR (head_size <= $1 AND head_at < $3)
