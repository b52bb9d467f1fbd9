-- Returns when the event $7 of the run was recorded.
UPDATE runs
SET
    input_tokens = input_tokens + $2,
    cached_input_tokens = cached_input_tokens + $3,
    output_tokens = output_tokens + $4,
    active_ms = active_ms + $5,
    tool_calls = tool_calls + $6
WHERE id = $1
RETURNING (
    SELECT entry.recorded_at FROM journal_entries AS entry
    WHERE entry.journal = $8 AND entry.owner = $1 AND entry.seq = $7
) AS "recorded_at?: Timestamp"
