UPDATE commands
SET
    state = $2,
    epoch = $3,
    cancelling = $4,
    failure_kind = $5,
    failure_message = $6,
    delivered_seq = coalesce($7, delivered_seq),
    acked_at = CASE WHEN $2 = 'running' THEN coalesce(acked_at, now()) ELSE acked_at END,
    ended_at = CASE WHEN $2 IN ('pending', 'running') THEN NULL ELSE now() END
WHERE id = $1
