-- The newest attempts of each event, oldest first.
SELECT
    found.event AS "event!",
    found.attempt AS "attempt!",
    found.attempted_at AS "attempted_at!: Timestamp",
    found.status AS "status?",
    found.duration_ms AS "duration_ms!",
    found.error AS "error?"
FROM unnest($1::bigint[]) AS asked (event)
CROSS JOIN LATERAL (
    SELECT * FROM webhook_attempts AS attempt
    WHERE attempt.event = asked.event
    ORDER BY attempt.id DESC
    LIMIT $2
) AS found
ORDER BY found.event DESC, found.id
