UPDATE relation_notices SET acknowledged_at = coalesce(acknowledged_at, now())
WHERE relation = $1 AND principal = $2 AND manifest_version = $3
