UPDATE runs
SET
    input_tokens = input_tokens + $2,
    cached_input_tokens = cached_input_tokens + $3,
    output_tokens = output_tokens + $4,
    active_ms = active_ms + $5,
    tool_calls = tool_calls + $6
WHERE id = $1
