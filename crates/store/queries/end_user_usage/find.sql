SELECT
    CASE WHEN usage.minute = date_trunc('minute', now()) THEN usage.turns ELSE 0 END AS "turns!",
    CASE WHEN usage.day = (now() AT TIME ZONE 'UTC')::date THEN usage.tokens ELSE 0 END AS "tokens!"
FROM end_user_usage AS usage
WHERE usage.principal = $1 AND usage.agent = $2
