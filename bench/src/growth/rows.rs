//! Rows that stand for what a server holds, made by SQL.

/// Copies a waiting run with its session, command and journal head. One id serves them all.
pub(super) fn copy_waiting_runs(count: usize) -> String {
    copy_runs("SELECT run FROM waiting_runs ORDER BY since DESC LIMIT 1", count)
}

/// Copies a run that has ended.
pub(super) fn copy_ended_runs(count: usize) -> String {
    copy_runs("SELECT id AS run FROM runs WHERE state = 'ended' ORDER BY ended_at DESC LIMIT 1", count)
}

fn copy_runs(original: &str, count: usize) -> String {
    COPY_RUNS.replace("$ORIGINAL", original).replace("$COUNT", &count.to_string())
}

const COPY_RUNS: &str = "
    DROP TABLE IF EXISTS copies;
    CREATE TEMPORARY TABLE copies AS
        SELECT
            -- The time in the id of a run says where its events are stored.
            (left(waiting.run::text, 15) || substr(gen_random_uuid()::text, 16))::uuid AS id,
            waiting.run AS original
        FROM ($ORIGINAL) AS waiting, generate_series(1, $COUNT);
    INSERT INTO sessions
        SELECT (jsonb_populate_record(NULL::sessions, to_jsonb(copied) || jsonb_build_object(
            'id', copies.id, 'last_run', copies.id,
            'active_run', CASE WHEN copied.active_run IS NOT NULL THEN copies.id END,
            'active_command', CASE WHEN copied.active_command IS NOT NULL THEN copies.id END
        ))).* FROM copies JOIN runs AS run ON run.id = copies.original JOIN sessions AS copied ON copied.id = run.session;
    INSERT INTO runs
        SELECT (jsonb_populate_record(NULL::runs, to_jsonb(run) || jsonb_build_object('id', copies.id, 'session', copies.id))).*
        FROM copies JOIN runs AS run ON run.id = copies.original;
    INSERT INTO journal_heads (journal, owner, last_seq, epoch)
        SELECT head.journal, copies.id, head.last_seq, head.epoch
        FROM copies JOIN journal_heads AS head ON head.owner = copies.original;
    INSERT INTO commands
        SELECT (jsonb_populate_record(NULL::commands, to_jsonb(command) || jsonb_build_object('id', copies.id, 'run', copies.id))).*
        FROM copies JOIN commands AS command ON command.run = copies.original;
    ANALYZE;
";

/// Tenants whose audit log has one entry, which is sealed and signed.
pub(super) fn insert_tenants(count: usize) -> String {
    INSERT_TENANTS.replace("$COUNT", &count.to_string())
}

const INSERT_TENANTS: &str = "
    DROP TABLE IF EXISTS new_tenants;
    CREATE TEMPORARY TABLE new_tenants AS SELECT gen_random_uuid() AS id FROM generate_series(1, $COUNT);
    INSERT INTO tenants (id, slug, name) SELECT id, 'tenant-' || id, 'tenant' FROM new_tenants;
    INSERT INTO journal_heads (journal, owner, last_seq) SELECT 1, id, 1 FROM new_tenants;
    INSERT INTO journal_seal_heads (journal, owner, sealed_seq, signed_seq) SELECT 1, id, 1, 1 FROM new_tenants;
    DELETE FROM unsealed_logs;
    ANALYZE;
";
