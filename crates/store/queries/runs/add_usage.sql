-- Returns when the event $7 of the run was recorded. Tokens of a run of an external subject count against its limit.
WITH run AS (
    UPDATE runs
    SET
        input_tokens = input_tokens + $2,
        cached_input_tokens = cached_input_tokens + $3,
        output_tokens = output_tokens + $4,
        active_ms = active_ms + $5,
        tool_calls = tool_calls + $6
    WHERE id = $1
    RETURNING created_by, agent
),

counted AS (
    UPDATE end_user_usage AS usage
    SET
        day = (now() AT TIME ZONE 'UTC')::date,
        tokens = CASE WHEN usage.day = (now() AT TIME ZONE 'UTC')::date THEN usage.tokens ELSE 0 END + $2 + $4
    FROM run
    WHERE usage.principal = run.created_by AND usage.agent = run.agent
)

SELECT (
    SELECT entry.recorded_at FROM journal_entries AS entry
    WHERE entry.journal = $8 AND entry.owner = $1 AND entry.seq = $7
) AS "recorded_at?: Timestamp"
FROM run
