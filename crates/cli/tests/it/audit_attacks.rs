//! Attacks on the audit log by the owner of the database, who has neither the signing key nor the anchor file: each one
//! must be found by `guildhall audit verify --anchor`.

use std::time::Duration;

use guildhall_domain::access::audit_chain::{ChainTip, UnsealedEntry, body_hash, seal};
use guildhall_domain::access::audit_checkpoint::{AuditLog, CheckpointStatement};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::Seq;
use guildhall_identity::audit_key::AuditSigningKey;
use guildhall_testkit::{Rounds, SqlConnection, Stopwatch};
use secrecy::SecretString;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::user::{CliUser, DevServer, stderr, stdout};

/// Number of attacks in CI.
const ATTACKS: u32 = 100;

/// A stored entry with its seal.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    id: EntryId,
    action: String,
    recorded_at: jiff::Timestamp,
    body: Value,
    /// Hash of the body and of the entry.
    seal: Option<(String, String)>,
}

/// The state of a log: the entries, first to last.
type Log = Vec<Row>;

fn parse(line: &str) -> Row {
    let entry: Value = serde_json::from_str(line).expect("JSON");
    let text = |name: &str| entry[name].as_str().map(str::to_owned);
    Row {
        id: text("id").and_then(|id| id.parse().ok()).expect("an id"),
        action: text("action").expect("an action"),
        recorded_at: text("recordedAt").and_then(|at| at.parse().ok()).expect("a time"),
        body: entry["body"].clone(),
        seal: text("bodyHash").zip(text("hash")),
    }
}

/// Computes all hashes again, as the server would.
fn reseal(log: &mut Log) {
    let bodies: Vec<String> = log.iter().map(|row| row.body.to_string()).collect();
    let unsealed = log.iter().zip(&bodies).zip(1i64..).map(|((row, body), seq)| UnsealedEntry {
        seq: Seq::new(seq).expect("positive"),
        id: row.id,
        action: &row.action,
        recorded_at: row.recorded_at,
        body: Some(body),
    });
    let seals = seal(ChainTip::START, unsealed).expect("a valid log");
    for (row, seal) in log.iter_mut().zip(seals) {
        row.seal = Some((seal.body_hash.to_string(), seal.hash.to_string()));
    }
}

fn forged(rounds: &mut Rounds) -> Row {
    let id = EntryId::from_uuid(Uuid::from_u128(u128::from(rounds.random())));
    let recorded_at = jiff::Timestamp::from_microsecond(1_700_000_000_000_000).expect("in range");
    let body = json!({ "actor": null, "detail": { "role": "viewer" }, "object": "key_forged" });
    Row { id, action: "key.revoked".to_owned(), recorded_at, body, seal: None }
}

fn index(rounds: &mut Rounds, length: usize) -> usize {
    usize::try_from(rounds.random() % u64::try_from(length).expect("small")).expect("small")
}

/// Changes a log in one of many ways. Returns what was done.
fn tamper(log: &mut Log, rounds: &mut Rounds) -> String {
    let at = index(rounds, log.len());
    let (done, may_reseal) = match rounds.random() % 12 {
        kind @ 0..5 => (alter_entry(&mut log[at], kind), true),
        // Swapped or removed seals are attacks without new hashes.
        5 => {
            let other = (at + 1) % log.len();
            let (one, two) = (log[at].seal.clone(), log[other].seal.clone());
            (log[at].seal, log[other].seal) = (two, one);
            ("swaps two seals", false)
        }
        6 => {
            log[at..].iter_mut().for_each(|row| row.seal = None);
            ("removes seals at the end", false)
        }
        kind => (move_entries(log, at, kind, rounds), true),
    };
    let resealed = may_reseal && !rounds.random().is_multiple_of(4);
    if resealed {
        reseal(log);
    }
    format!("{done} at {at}, {}", if resealed { "reseals" } else { "keeps the seals" })
}

/// Changes one entry.
fn alter_entry(row: &mut Row, kind: u64) -> &'static str {
    match kind {
        0 => {
            row.body["actor"] = json!("prn_00000000000000000000000000000001");
            "alters a body"
        }
        1 => {
            row.action = "key.renamed".to_owned();
            "alters an action"
        }
        2 => {
            let micros = row.recorded_at.as_microsecond() + 1;
            row.recorded_at = jiff::Timestamp::from_microsecond(micros).expect("in range");
            "alters a time"
        }
        3 => {
            row.body["detail"] = json!({ "name": "changed" });
            let hash = body_hash(&row.body).to_string();
            row.seal = row.seal.take().map(|(_, entry)| (hash, entry));
            "alters a body and its hash"
        }
        _ => {
            row.body = Value::Null;
            "deletes a body"
        }
    }
}

/// Moves, removes or adds entries.
fn move_entries(log: &mut Log, at: usize, kind: u64, rounds: &mut Rounds) -> &'static str {
    match kind {
        7 => {
            let other = (at + 1) % log.len();
            log.swap(at, other);
            "swaps two entries with their seals"
        }
        8 => {
            log.remove(at);
            "deletes an entry"
        }
        9 => {
            log.insert(at, forged(rounds));
            "inserts an entry"
        }
        10 => {
            log.truncate(at);
            "truncates the log"
        }
        _ => {
            log.truncate(at);
            log.push(forged(rounds));
            "truncates the log and appends an entry"
        }
    }
}

/// What an attack does with the stored checkpoints.
#[derive(Debug, Clone, Copy)]
enum Checkpoints {
    Keep,
    DeleteAll,
    /// Deletes those after the end of the log, so that it ends with a valid one if it can.
    DeleteAfterEnd,
    /// Signs the end of the log with another key, under the id of the real one.
    Forge,
}

impl Checkpoints {
    fn choose(rounds: &mut Rounds) -> Self {
        match rounds.random() % 4 {
            0 => Self::Keep,
            1 => Self::DeleteAll,
            2 => Self::DeleteAfterEnd,
            _ => Self::Forge,
        }
    }
}

/// Restores the checkpoints that were there at the beginning.
const RESTORE_CHECKPOINTS: &str =
    "DELETE FROM journal_checkpoints; INSERT INTO journal_checkpoints SELECT * FROM saved_checkpoints";

/// The database of a tenant's log.
struct Database {
    sql: SqlConnection,
    owner: String,
}

impl Database {
    async fn connect(server: &DevServer, tenant: &str) -> Self {
        let password = std::fs::read_to_string(server.state.join("postgres.password")).expect("a password");
        let url = format!(
            "postgres://guildhall:{password}@127.0.0.1:{}/guildhall",
            server.ready["postgres"]["port"]
        );
        let mut sql = SqlConnection::connect(&SecretString::from(url)).await;
        sql.execute("CREATE TEMPORARY TABLE saved_checkpoints AS SELECT * FROM journal_checkpoints").await;
        Self { sql, owner: tenant.strip_prefix("ten_").expect("a tenant's id").to_owned() }
    }

    /// Replaces the stored log.
    async fn write(&mut self, log: &Log, checkpoints: Checkpoints) {
        let owner = &self.owner;
        let tables = ["journal_entries", "journal_seals"];
        // The server seals no log that is locked.
        let mut statements =
            vec![format!("SELECT FROM journal_seal_heads WHERE owner = '{owner}' FOR UPDATE")];
        statements.extend(tables.map(|table| format!("DELETE FROM {table} WHERE owner = '{owner}'")));
        statements.push(RESTORE_CHECKPOINTS.to_owned());
        for (row, seq) in log.iter().zip(1..) {
            let (body, erased) = if row.body.is_null() {
                ("NULL".to_owned(), "now()")
            } else {
                (quote(&row.body.to_string()), "NULL")
            };
            statements.push(format!(
                "INSERT INTO journal_entries (journal, owner, seq, id, kind, body, recorded_at, erased_at)
                 VALUES (1, '{owner}', {seq}, '{}', {}, {body}, '{}', {erased})",
                row.id.as_uuid(),
                quote(&row.action),
                row.recorded_at
            ));
            if let Some((body_hash, hash)) = &row.seal {
                statements.push(format!(
                    "INSERT INTO journal_seals (journal, owner, seq, body_hash, hash)
                     VALUES (1, '{owner}', {seq}, '\\x{body_hash}', '\\x{hash}')"
                ));
            }
        }
        let sealed = log.iter().take_while(|row| row.seal.is_some()).count();
        let tip = log[..sealed].last().and_then(|row| row.seal.clone());
        let tip = tip.map_or("0".repeat(64), |(_, hash)| hash);
        statements.push(format!("UPDATE journal_heads SET last_seq = {} WHERE owner = '{owner}'", log.len()));
        statements.push(format!(
            "UPDATE journal_seal_heads SET sealed_seq = {sealed}, signed_seq = {sealed}, hash = '\\x{tip}'
             WHERE owner = '{owner}'"
        ));
        statements.push(self.change_checkpoints(checkpoints, sealed, &tip));
        self.sql.execute(format!("BEGIN; {}; COMMIT", statements.join("; "))).await;
    }
}

impl Database {
    fn change_checkpoints(&self, change: Checkpoints, sealed: usize, tip: &str) -> String {
        let owner = &self.owner;
        let delete = format!("DELETE FROM journal_checkpoints WHERE owner = '{owner}'");
        match change {
            Checkpoints::Keep => "SELECT".to_owned(),
            Checkpoints::DeleteAll => delete,
            Checkpoints::DeleteAfterEnd => format!("{delete} AND seq > {sealed}"),
            Checkpoints::Forge if sealed == 0 => delete,
            Checkpoints::Forge => {
                let log = AuditLog::of_owner(owner.parse().expect("an id"));
                let seq = Seq::new(i64::try_from(sealed).expect("small")).expect("positive");
                let hash = tip.parse().expect("a hash");
                let signed_at = jiff::Timestamp::from_microsecond(1_700_000_000_000_000).expect("in range");
                let key = AuditSigningKey::from_hex(&SecretString::from("a".repeat(64))).expect("a key");
                let forged = key.sign(CheckpointStatement { log, tip: ChainTip { seq, hash }, signed_at });
                format!(
                    "{delete}; INSERT INTO journal_checkpoints (journal, owner, seq, hash, signed_at, key_id, signature)
                     SELECT 1, '{owner}', {seq}, '\\x{tip}', '{signed_at}', key_id, '\\x{}'
                     FROM saved_checkpoints LIMIT 1",
                    forged.signature
                )
            }
        }
    }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Exports the log until all entries are sealed.
fn sealed_export(user: &CliUser, count: usize) -> String {
    let started = Stopwatch::start();
    loop {
        let export = stdout(&user.run(&["audit", "export", "--tenant", "acme"]));
        let rows: Vec<Row> = export.lines().map(parse).collect();
        if rows.len() == count && rows.iter().all(|row| row.seal.is_some()) {
            return export;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "not sealed after 30 s: {export}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attack_on_the_stored_log_is_found() {
    let server = DevServer::ephemeral_with(&[("GUILDHALL_HOUSEKEEPING_AUDIT_SEAL_EVERY", "100ms")]);
    let user = CliUser::new();
    user.login(&server);
    let tenant = user.json(&["tenants", "create", "acme"]);
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        user.json(&["keys", "create", name, "--role", "viewer", "--tenant", "acme"]);
    }
    let original: Log = sealed_export(&user, 8).lines().map(parse).collect();
    let mut database = Database::connect(&server, tenant["id"].as_str().expect("an id")).await;
    let anchors = server.state.join("audit-anchors.jsonl").display().to_string();
    let verify = || {
        let export = stdout(&user.run(&["audit", "export", "--tenant", "acme"]));
        let output = user.run_with_stdin(&["audit", "verify", "-", "--anchor", &anchors], &export);
        (output.status.code(), stderr(&output))
    };
    assert_eq!(verify(), (Some(0), String::new()));

    let mut rounds = Rounds::from_env(ATTACKS);
    let mut missed = Vec::new();
    for _ in 0..rounds.size() {
        let mut log = original.clone();
        let (attack, checkpoints) = (tamper(&mut log, &mut rounds), Checkpoints::choose(&mut rounds));
        database.write(&log, checkpoints).await;
        let (code, message) = verify();
        if code != Some(1) {
            missed.push(format!("{attack}, checkpoints {checkpoints:?}: {code:?} {message}"));
        }
        database.write(&original, Checkpoints::Keep).await;
    }
    assert_eq!(missed, Vec::<String>::new(), "attacks that were not found");
    assert_eq!(verify(), (Some(0), String::new()), "the restored log is valid");
}
