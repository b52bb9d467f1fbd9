-- Allocates the ordinal of the command and inserts it. The first command with a text gives the run its title.
WITH numbered AS (
    UPDATE runs
    SET commands = commands + 1, waiting_since = now(), title = coalesce(title, $8)
    WHERE id = $2
    RETURNING commands
)

INSERT INTO commands (id, run, ordinal, kind, payload, sealed_payload, target, continues, created_by)
SELECT $1, $2, numbered.commands, $3, $4, $5, $6, $9, $7
FROM numbered
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
