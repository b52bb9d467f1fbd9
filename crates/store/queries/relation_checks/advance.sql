UPDATE relation_checks SET after = $3, has_wrapped = $4, ended_at = CASE WHEN $5 THEN now() END
WHERE agent = $1 AND version = $2
