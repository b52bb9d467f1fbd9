//! Tenants with running turns, and pending questions, inserted by SQL.

use anyhow::{Context, Result};
use guildhall_domain::approvals::question::Question;
use guildhall_domain::ids::ApprovalId;
use guildhall_identity::payload_seal::PayloadSealer;
use guildhall_identity::seal::Kek;
use secrecy::SecretString;
use serde_json::{Value, json};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::installation::KEK;

const BATCH: usize = 5_000;

/// Copies the tenant that is there, with its session, run, command, lease and journal head. One id serves them all.
const COPY_TENANTS: &str = "
    CREATE TEMPORARY TABLE copies AS
        SELECT gen_random_uuid() AS id, 'copy-' || number AS slug FROM generate_series(1, $COUNT) AS number;
    INSERT INTO tenants (id, slug, name) SELECT id, slug, slug FROM copies;
    INSERT INTO sessions
        SELECT (jsonb_populate_record(NULL::sessions, to_jsonb(original) || jsonb_build_object(
            'id', copies.id, 'tenant', copies.id, 'active_run', copies.id, 'active_command', copies.id, 'last_run', copies.id
        ))).* FROM sessions AS original, copies;
    INSERT INTO runs
        SELECT (jsonb_populate_record(NULL::runs, to_jsonb(original) || jsonb_build_object(
            'id', copies.id, 'tenant', copies.id, 'session', copies.id
        ))).* FROM runs AS original, copies;
    INSERT INTO commands
        SELECT (jsonb_populate_record(NULL::commands, to_jsonb(original) || jsonb_build_object(
            'id', copies.id, 'run', copies.id
        ))).* FROM commands AS original, copies;
    INSERT INTO leases
        SELECT (jsonb_populate_record(NULL::leases, to_jsonb(original) || jsonb_build_object('run', copies.id))).*
        FROM leases AS original, copies;
    INSERT INTO journal_heads (journal, owner, last_seq, epoch)
        SELECT original.journal, copies.id, original.last_seq, original.epoch
        FROM journal_heads AS original JOIN runs AS run ON run.id = original.owner, copies
        WHERE run.tenant NOT IN (SELECT id FROM copies);
    ANALYZE;
";

const INSERT_QUESTIONS: &str = "
    INSERT INTO approvals (id, tenant, session, run, command, process, request, sealed_question, shown_digest,
        action_digest, policy_version, expires_at)
    SELECT new.id, run.tenant, run.session, run.id, command.id, 'copied', new.id::text, new.sealed, new.shown, new.action,
        1, now() + interval '1 day'
    FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[], $5::bytea[]) AS new (id, run, sealed, shown, action)
    JOIN runs AS run ON run.id = new.run
    JOIN commands AS command ON command.run = run.id";

pub(super) async fn copy_tenants(sql: &mut PgConnection, count: usize) -> Result<()> {
    let statements = COPY_TENANTS.replace("$COUNT", &count.to_string());
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(sql).await.context("cannot copy the tenant")?;
    Ok(())
}

/// Inserts pending questions into all runs in turns. The server can decrypt them.
pub(super) async fn insert_questions(sql: &mut PgConnection, count: usize) -> Result<()> {
    let sealer = PayloadSealer::new(&Kek::from_hex(&SecretString::from(KEK))?);
    let runs: Vec<Uuid> = sqlx::query_scalar("SELECT id FROM runs").fetch_all(&mut *sql).await?;
    let numbers: Vec<usize> = (0..count).collect();
    for batch in numbers.chunks(BATCH) {
        let (mut ids, mut of_runs, mut sealed, mut shown, mut actions) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for number in batch {
            let (id, json) = (ApprovalId::generate().as_uuid(), question(*number));
            let question: Question = serde_json::from_value(json)?;
            ids.push(id);
            of_runs.push(*runs.get(number % runs.len()).context("no run")?);
            sealed.push(sealer.seal_question(id, json!(question).to_string().as_bytes())?);
            shown.push(question.shown_digest().as_bytes().to_vec());
            actions.push(question.action.digest().map(|digest| digest.as_bytes().to_vec()));
        }
        #[expect(clippy::disallowed_methods, reason = "a benchmark fills the database directly")]
        let insert =
            sqlx::query(INSERT_QUESTIONS).bind(ids).bind(of_runs).bind(sealed).bind(shown).bind(actions);
        insert.execute(&mut *sql).await?;
    }
    #[expect(clippy::disallowed_methods, reason = "autovacuum would do it a minute later")]
    sqlx::query("ANALYZE approvals").execute(sql).await?;
    Ok(())
}

/// A question of an agent that wants to execute a command.
pub(super) fn question(number: usize) -> Value {
    json!({
        "action": {
            "kind": "command", "tool": "shell", "workingDir": "/work", "environment": null, "lifts": ["sandbox"],
            "arguments": { "command": format!("cargo test --workspace -- --exact test_{number} {}", "x".repeat(400)) },
            "changes": [],
        },
        "options": [
            { "id": "yes", "label": "Allow once", "effect": "allow", "changesMode": false },
            { "id": "no", "label": "Deny", "effect": "deny", "changesMode": false },
        ],
        "reason": "to see whether it passes", "answerSchema": null,
    })
}
