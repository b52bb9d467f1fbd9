-- The messages of a session on its newest day with messages, or on the newest one before a day: what people have sent,
-- and a reply for each completed turn. Reads the turns of the session, without their payloads.
WITH turn AS (
    SELECT command.id, command.run, command.created_at, command.ended_at, command.state, command.continues
    FROM runs AS run
    INNER JOIN commands AS command ON command.run = run.id
    WHERE run.session = $1 AND command.kind = 'turn'
),

message AS (
    SELECT id, run, created_at AS at, false AS is_reply FROM turn WHERE continues IS NULL
    UNION ALL
    SELECT id, run, ended_at, true FROM turn WHERE state = 'completed' AND ended_at IS NOT NULL
),

dated AS (
    SELECT id, run, at, is_reply, (at AT TIME ZONE 'UTC')::date AS day, row_number() OVER (ORDER BY at, is_reply, id) AS seq
    FROM message
)

SELECT
    dated.id AS "command!",
    dated.run AS "run!",
    dated.at AS "at!: Timestamp",
    dated.is_reply AS "is_reply!",
    dated.seq AS "seq!",
    CASE WHEN dated.is_reply THEN NULL ELSE command.payload END AS payload
FROM dated
INNER JOIN commands AS command ON command.id = dated.id
WHERE dated.day = (SELECT max(earlier.day) FROM dated AS earlier WHERE $2::text IS NULL OR earlier.day < $2::text::date)
ORDER BY dated.seq DESC
LIMIT $3
