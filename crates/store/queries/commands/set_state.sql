UPDATE commands
SET
    state = $2,
    epoch = $3,
    cancelling = $4,
    failure_kind = $5,
    failure_message = $6,
    delivered_seq = coalesce($7, delivered_seq),
    attempt = CASE
        WHEN $2 IN ('running', 'failed', 'blocked')
            THEN coalesce(attempt, (SELECT lease.attempt FROM leases AS lease WHERE lease.run = commands.run))
        ELSE attempt
    END,
    acked_at = CASE WHEN $2 = 'running' THEN coalesce(acked_at, now()) ELSE acked_at END,
    ended_at = CASE WHEN $2 IN ('pending', 'running') THEN NULL ELSE now() END
WHERE id = $1
RETURNING
    commands.id,
    commands.run,
    commands.ordinal,
    commands.kind,
    commands.payload,
    commands.target,
    commands.state,
    commands.epoch,
    commands.cancelling,
    commands.attempt,
    commands.failure_kind,
    commands.failure_message,
    commands.created_by,
    commands.created_at AS "created_at: Timestamp",
    commands.acked_at AS "acked_at: Timestamp",
    commands.delivered_seq,
    commands.ended_at AS "ended_at: Timestamp"
