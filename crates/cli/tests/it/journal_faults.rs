//! Fault injection for the journal: two replicas, sixteen writers and two followers, while servers, PostgreSQL and NATS
//! are killed with SIGKILL. CI runs a few rounds; `cargo xtask long journal-faults` runs all.
//!
//! A writer creates service keys, each with its own idempotency key, and retries until the server confirms it. Every
//! confirmed key must be in the audit log exactly once, and the followers must have received every entry.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use guildhall_domain::ids::{EntryId, ServiceKeyId, TenantId};
use guildhall_domain::journal::{Journal, Seq, Stream};
use guildhall_testkit::{EntryPosition, History, Rounds, SqlConnection};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::{Cluster, KillCounts};

const WRITERS: usize = 16;
const TENANTS: usize = 4;

/// A follower connects again after a pause of this length, so that it notices the end of the test.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirmed_entries_survive_kills_without_loss_or_duplicate() {
    let mut rounds = Rounds::from_env(10);
    let started = Instant::now();
    let fixture = Arc::new(JournalFixture::start().await);
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let fixture = Arc::clone(&fixture);
            guildhall_testkit::spawn_task(async move { fixture.write_keys(number).await })
        })
        .collect();
    let followers: Vec<_> = (0..TENANTS)
        .flat_map(|tenant| [(tenant, 0), (tenant, 1)])
        .map(|(tenant, replica)| {
            let fixture = Arc::clone(&fixture);
            guildhall_testkit::spawn_task(
                async move { fixture.follow(&fixture.tenants[tenant], replica).await },
            )
        })
        .collect();
    let kill_counts = fixture.cluster.kill_at_random(&mut rounds).await;
    fixture.stop.store(true, Ordering::SeqCst);
    let acknowledged = try_join_all(writers).await.expect("the writers do not panic");
    let observed = try_join_all(followers).await.expect("the followers do not panic");
    let log = fixture.log().await;
    let acknowledged = with_log_seqs(acknowledged.concat(), &log);
    let (confirmed, entries) = (acknowledged.len(), log.len());
    // Each follower reads the log of one tenant; the followers of one replica together must receive the whole log.
    let received_by =
        |replica: usize| observed.iter().skip(replica).step_by(2).flatten().copied().collect::<Vec<_>>();
    let history = History { acknowledged, log, observed: vec![received_by(0), received_by(1)] };
    assert_eq!(history.violations(), vec![]);
    assert!(confirmed > 50, "only {confirmed} appends were confirmed, too few for a test");
    rounds.report(&report(&kill_counts, confirmed, entries, started.elapsed()));
}

fn report(kill_counts: &KillCounts, confirmed: usize, entries: usize, elapsed: Duration) -> String {
    let mut text = String::from("| killed | times |\n|---|---|\n");
    for (what, times) in kill_counts {
        let _infallible = writeln!(text, "| {what} | {times} |");
    }
    let _infallible = writeln!(
        text,
        "\n{WRITERS} writers on 2 replicas and {TENANTS} streams, {} followers, {} s: {confirmed} appends confirmed, \
         {entries} entries in the log. Violations found by the history checker: none.",
        TENANTS * 2,
        elapsed.as_secs()
    );
    text
}

/// Adds the sequence numbers from the log: writers know the id of a created key, but not the position of its entry.
/// The followers know the position: they notice an entry that was renumbered.
fn with_log_seqs(confirmed_keys: Vec<(Stream, EntryId)>, log: &[EntryPosition]) -> Vec<EntryPosition> {
    let seqs: BTreeMap<(Stream, EntryId), Seq> =
        log.iter().map(|(stream, seq, id)| ((*stream, *id), *seq)).collect();
    confirmed_keys
        .into_iter()
        .map(|(stream, id)| (stream, seqs.get(&(stream, id)).copied().unwrap_or_default(), id))
        .collect()
}

struct JournalFixture {
    cluster: Cluster,
    tenants: Vec<Tenant>,
    /// Tells writers to stop, and followers to read to the end.
    stop: AtomicBool,
}

struct Tenant {
    id: String,
    stream: Stream,
    /// A service key that may create keys; it does not expire during the test.
    bearer: String,
}

impl JournalFixture {
    async fn start() -> Self {
        let cluster = Cluster::start(&[]).await;
        let access = cluster.create_operator().await;
        let mut tenants = Vec::new();
        for number in 0..TENANTS {
            let (id, bearer) = cluster.create_tenant(&access, &format!("tenant-{number}")).await;
            let owner = id.parse::<TenantId>().expect("an id").as_uuid();
            tenants.push(Tenant { id, stream: Stream { journal: Journal::Audit, owner }, bearer });
        }
        Self { cluster, tenants, stop: AtomicBool::new(false) }
    }

    /// Creates keys until `stop` is set. Returns the confirmed ones.
    async fn write_keys(&self, number: usize) -> Vec<(Stream, EntryId)> {
        let tenant = &self.tenants[number % TENANTS];
        let path = format!("/api/v1/tenants/{}/keys", tenant.id);
        let (mut confirmed_keys, mut round) = (Vec::new(), 0);
        while !self.stop.load(Ordering::SeqCst) {
            round += 1;
            let key = format!("writer-{number}-{round}");
            let body = json!({ "name": key, "role": "viewer" });
            // Retry on alternating replicas with the same idempotency key until one confirms.
            let mut attempt = number;
            let created = loop {
                attempt += 1;
                if let Some(created) =
                    self.cluster.create(attempt % 2, &path, &tenant.bearer, &key, &body).await
                {
                    break created;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            confirmed_keys.push((tenant.stream, entry_id(&created["id"])));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        confirmed_keys
    }

    /// Follows a tenant's log on one replica, reconnecting as needed, until it has received everything.
    async fn follow(&self, tenant: &Tenant, replica: usize) -> Vec<EntryPosition> {
        let (mut received, mut cursor): (Vec<EntryPosition>, Option<String>) = (Vec::new(), None);
        loop {
            let stopped = self.stop.load(Ordering::SeqCst);
            let last = if stopped { self.last_seq(tenant).await } else { i64::MAX };
            if received.last().is_some_and(|(_, seq, _)| seq.get() >= last) {
                return received;
            }
            let path = format!("/api/v1/tenants/{}/audit/stream", tenant.id);
            let mut request = self.cluster.request(replica, Method::GET, &path, &tenant.bearer);
            if let Some(cursor) = &cursor {
                request = request.header("last-event-id", cursor);
            }
            if let Ok(mut response) = request.send().await {
                let mut text = String::new();
                while let Ok(Ok(Some(chunk))) = tokio::time::timeout(READ_TIMEOUT, response.chunk()).await {
                    text.push_str(&String::from_utf8_lossy(&chunk));
                    while let Some((event, rest)) = text.split_once("\n\n") {
                        record_event(event, tenant.stream, &mut received, &mut cursor);
                        text = rest.to_owned();
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn last_seq(&self, tenant: &Tenant) -> i64 {
        let sql = format!("SELECT last_seq FROM journal_heads WHERE owner = '{}'", tenant.stream.owner);
        self.cluster.db.sql().await.number(sql).await
    }

    async fn log(&self) -> Vec<EntryPosition> {
        let (mut sql, mut log) = (self.cluster.db.sql().await, Vec::new());
        for tenant in &self.tenants {
            log.extend(read_audit_log(&mut sql, tenant.stream).await);
        }
        log
    }
}

/// Reads the audit log of a tenant from the database.
pub(crate) async fn read_audit_log(sql: &mut SqlConnection, stream: Stream) -> Vec<EntryPosition> {
    let query = format!(
        "SELECT seq || ' ' || (body::json ->> 'object') FROM journal_entries WHERE owner = '{}' ORDER BY seq",
        stream.owner
    );
    let parse_row = |row: String| {
        let (seq, object) = row.split_once(' ').expect("a sequence number and an object");
        let seq = seq.parse().ok().and_then(Seq::new).expect("a number");
        (stream, seq, entry_id(&json!(object)))
    };
    sql.texts(query).await.into_iter().map(parse_row).collect()
}

/// Records one server-sent event. The checker finds repeated and reordered ones.
pub(crate) fn record_event(
    event: &str,
    stream: Stream,
    received: &mut Vec<EntryPosition>,
    cursor: &mut Option<String>,
) {
    let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
    let (Some(data), Some(id)) = (field("data: "), field("id: ")) else { return };
    let data: Value = serde_json::from_str(data).expect("JSON");
    let seq = data["seq"].as_i64().and_then(Seq::new).expect("a number");
    received.push((stream, seq, entry_id(&data["body"]["object"])));
    *cursor = Some(id.to_owned());
}

/// Uses the id of the created object as the entry id: each object is created once.
pub(crate) fn entry_id(object: &Value) -> EntryId {
    let text = object.as_str().expect("an id");
    let uuid = text.parse::<ServiceKeyId>().map(ServiceKeyId::as_uuid);
    let uuid =
        uuid.or_else(|_| text.parse::<TenantId>().map(TenantId::as_uuid)).expect("a key's or a tenant's id");
    EntryId::from_uuid(uuid)
}
