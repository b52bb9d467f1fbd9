-- The open commands of runs, in order.
SELECT
    command.id,
    command.run,
    command.ordinal,
    command.kind,
    command.payload,
    command.target,
    command.state,
    command.epoch,
    command.cancelling,
    command.attempt,
    command.failure_kind,
    command.failure_message,
    command.created_by,
    command.created_at AS "created_at: Timestamp",
    command.acked_at AS "acked_at: Timestamp",
    command.delivered_seq,
    command.ended_at AS "ended_at: Timestamp"
FROM commands AS command
WHERE command.run = ANY ($1) AND command.state IN ('pending', 'running')
ORDER BY command.ordinal
