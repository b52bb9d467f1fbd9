-- Counts a turn, and locks the row until the end of the transaction.
INSERT INTO end_user_usage AS usage (principal, agent, minute, turns, day, tokens)
VALUES ($1, $2, date_trunc('minute', now()), 1, (now() AT TIME ZONE 'UTC')::date, 0)
ON CONFLICT (principal, agent) DO UPDATE SET
    minute = excluded.minute,
    turns = CASE WHEN usage.minute = excluded.minute THEN usage.turns + 1 ELSE 1 END,
    day = excluded.day,
    tokens = CASE WHEN usage.day = excluded.day THEN usage.tokens ELSE 0 END
RETURNING turns, tokens
