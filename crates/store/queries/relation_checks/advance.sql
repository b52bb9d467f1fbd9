UPDATE relation_checks SET after = coalesce($3, after), ended_at = CASE WHEN $4 THEN now() END
WHERE agent = $1 AND version = $2
