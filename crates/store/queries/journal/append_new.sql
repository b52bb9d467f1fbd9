-- Moves the head of a stream, or creates it, inserts entries after it, and stores the folds that they change. $8 is the session of a
-- run whose work they change.
WITH moved AS (
    INSERT INTO journal_heads AS head (journal, owner, last_seq) VALUES ($1, $2, cardinality($3::uuid[]))
    ON CONFLICT (journal, owner) DO UPDATE SET last_seq = head.last_seq + cardinality($3::uuid[])
    RETURNING last_seq
),

folded AS (
    INSERT INTO run_folds (run, scope, fold)
    SELECT $2, changed.scope, changed.fold
    FROM unnest($6::uuid[], $7::text[]) AS changed (scope, fold)
    ON CONFLICT (run, scope) DO UPDATE SET fold = excluded.fold
),

active AS (
    UPDATE sessions
    SET
        active_run = $9, active_command = $10, running = $10::uuid IS NOT NULL, version = version + $11,
        thread_id = coalesce($12, thread_id), updated_at = now()
    WHERE id = $8
),

inserted AS (
    INSERT INTO journal_entries (journal, owner, seq, id, kind, body)
    SELECT $1, $2, moved.last_seq - cardinality($3::uuid[]) + entry.place, entry.id, entry.kind, entry.body
    FROM moved
    CROSS JOIN unnest($3::uuid[], $4::text[], $5::text[]) WITH ORDINALITY AS entry (id, kind, body, place)
)

SELECT last_seq AS "last_seq!" FROM moved
