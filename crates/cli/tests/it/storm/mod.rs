//! The storm: replicas, runners, NATS and a PostgreSQL with a synchronous standby, while faults of many kinds hit them.
//! CI injects each cheap kind once; `cargo xtask long storm` runs for an hour. Needs root.

mod api;
mod appenders;
mod checker;
#[cfg(test)]
mod checker_tests;
mod clients;
mod faults;
mod followers;
mod injector;
mod outages;
mod overload;
mod planted;
mod postgres_node;
mod postgres_pair;
mod replicas;
mod report;
mod runners;
mod secrets_disk;
mod setup;
mod small_disk;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use guildhall_domain::ids::{CommandId, EntryId, RunId};
use guildhall_domain::journal::Stream;
use guildhall_engines::{Nats, StateDir};
use guildhall_testkit::{FakeModel, Rounds, TestDb};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use self::api::Api;
use self::checker::{AuditRecord, RunRecord, StormHistory};
use self::faults::FaultKind;
use self::followers::RUN_BOUND;
use self::outages::Outages;
use self::postgres_pair::PostgresPair;
use self::replicas::StormReplicas;
use self::runners::StormRunners;
use self::secrets_disk::SecretsDisk;
use crate::journal_faults::{entry_id, read_audit_log};
use crate::runner_faults::agent::Agent;
use crate::support::run_events::{assert_nothing_hangs, read_log};

/// The lease of a runner, its grace and the time to notice it.
const DETECTION_TIMEOUT: Duration = Duration::from_secs(8 + 1 + 15);

/// What is started, and for how long.
#[derive(Debug)]
struct StormSize {
    /// The time of the faults; at least each kind once.
    duration: Duration,
    kinds: &'static [FaultKind],
    runners: usize,
    /// The first of the runners run Codex.
    codex_runners: usize,
    appenders: usize,
    key_writers: usize,
    /// A follower gives up a run that does not end in this time.
    bound: Duration,
    /// Longest pause before a fault.
    calm: Duration,
    /// Longest pause of a caller between two runs.
    pause: Duration,
    /// The fault-free time after thirty faults.
    window: Duration,
    /// How long PostgreSQL is down while clients retry without a pause.
    outage: Duration,
}

impl StormSize {
    /// The size is in minutes; 0 is the short form.
    fn new(minutes: u32) -> Self {
        let is_short = minutes == 0;
        let choose = |short: usize, full: usize| if is_short { short } else { full };
        Self {
            duration: Duration::from_secs(60) * minutes,
            kinds: if is_short { &FaultKind::SHORT } else { &FaultKind::ALL },
            runners: choose(6, 40),
            codex_runners: choose(1, 4),
            appenders: choose(3, 5),
            key_writers: choose(2, 4),
            bound: RUN_BOUND,
            calm: Duration::from_millis(if is_short { 700 } else { 3000 }),
            pause: Duration::from_secs(if is_short { 1 } else { 10 }),
            window: Duration::from_secs(60),
            outage: Duration::from_secs(if minutes < 60 { 20 } else { 60 }),
        }
    }

    /// A small load without faults.
    fn without_faults() -> Self {
        Self {
            kinds: &[],
            runners: 2,
            codex_runners: 0,
            appenders: 2,
            key_writers: 1,
            bound: Duration::from_secs(6),
            ..Self::new(0)
        }
    }

    /// One more tenant is for the probes of the injector.
    fn tenants(&self) -> usize {
        self.runners + self.appenders + self.key_writers + 1
    }
}

/// A tenant with a service key, and an enrolment if it has runners.
struct StormTenant {
    id: String,
    stream: Stream,
    bearer: String,
    /// The agent of its runs.
    agent: Agent,
    enrolment: String,
}

// Processes are stopped in the order of the fields.
struct Storm {
    size: StormSize,
    api: Api,
    tenants: Vec<StormTenant>,
    /// Confirmed keys.
    keys: Mutex<Vec<EntryId>>,
    probes: AtomicU64,
    outages: Outages,
    /// Tells clients to end their current run.
    stop: AtomicBool,
    /// Tells followers of audit logs to read to the end.
    writers_done: AtomicBool,
    runners: Arc<StormRunners>,
    _model: FakeModel,
    replicas: Arc<StormReplicas>,
    secrets: SecretsDisk,
    nats: Arc<Nats>,
    db: TestDb,
    postgres: PostgresPair,
    _state: StateDir,
    folder: TempDir,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn storm_of_faults_loses_doubles_and_reorders_nothing() {
    let mut rounds = Rounds::from_env(0);
    let (started, size) = (Instant::now(), StormSize::new(rounds.size()));
    if size.kinds.contains(&FaultKind::ClockJump) {
        replicas::require_faketime();
    }
    let storm = Arc::new(Storm::start(size).await);
    eprintln!("started after {:.1} s in {}", started.elapsed().as_secs_f64(), storm.folder.path().display());
    let clients = StormClients::start(&storm, &mut rounds);
    let injections = injector::inject_faults(&storm, &mut rounds).await;
    let history = clients.stop(&storm).await;
    eprintln!("{}", report::report(&storm, &injections, &history, started.elapsed()));
    assert_eq!(history.violations(), vec![], "seed {}", rounds.seed());
    assert_eq!(injections.slow_recoveries, [""; 0], "seed {}", rounds.seed());
    let unexpected = storm.api.unexpected.lock().expect("the lock is not poisoned").clone();
    assert_eq!(unexpected, [], "seed {}: {}", rounds.seed(), storm.replicas.log_lines(&unexpected));
    let has_clock_jumps = storm.size.kinds.contains(&FaultKind::ClockJump);
    let unauthenticated = storm.api.unauthenticated.load(Ordering::SeqCst);
    assert!(has_clock_jumps || unauthenticated == 0, "{unauthenticated} valid tokens were refused");
    assert_nothing_hangs(&mut storm.db.sql().await, DETECTION_TIMEOUT).await;
    for kind in storm.size.kinds {
        let count = injections.by_kind.get(kind).map_or(0, |stats| stats.count);
        assert!(count > 0, "{kind:?} was never injected");
    }
    let acknowledged: usize = history.runs.iter().map(|record| record.acknowledged.len()).sum();
    assert!(acknowledged > 500 && history.runs.len() > 20, "too few for a test: {acknowledged} events");
    rounds.report(&report::report(&storm, &injections, &history, started.elapsed()));
}

/// The tasks of the clients.
struct StormClients {
    runs: Vec<JoinHandle<Vec<RunRecord>>>,
    key_writers: Vec<JoinHandle<()>>,
    audit_followers: Vec<JoinHandle<AuditRecord>>,
}

impl StormClients {
    fn start(storm: &Arc<Storm>, rounds: &mut Rounds) -> Self {
        let StormSize { runners, appenders, .. } = storm.size;
        let callers = (0..runners).map(|tenant| {
            guildhall_testkit::spawn_task(clients::call_until_stopped(
                Arc::clone(storm),
                tenant,
                rounds.fork(),
            ))
        });
        let mut runs: Vec<_> = callers.collect();
        runs.extend((runners..runners + appenders).map(|tenant| {
            guildhall_testkit::spawn_task(appenders::append_until_stopped(
                Arc::clone(storm),
                tenant,
                rounds.fork(),
            ))
        }));
        let writing = storm.key_tenants();
        let key_writers = writing
            .clone()
            .map(|tenant| guildhall_testkit::spawn_task(clients::write_keys(Arc::clone(storm), tenant)));
        let audit_followers = writing
            .clone()
            .chain(writing)
            .map(|tenant| guildhall_testkit::spawn_task(followers::follow_audit(Arc::clone(storm), tenant)));
        Self { runs, key_writers: key_writers.collect(), audit_followers: audit_followers.collect() }
    }

    /// Waits for the clients, and reads what the database holds.
    async fn stop(self, storm: &Storm) -> StormHistory {
        storm.stop.store(true, Ordering::SeqCst);
        let runs = try_join_all(self.runs).await.expect("the clients do not panic").concat();
        try_join_all(self.key_writers).await.expect("the writers do not panic");
        storm.writers_done.store(true, Ordering::SeqCst);
        let audit = try_join_all(self.audit_followers).await.expect("the followers do not panic");
        let keys = storm.keys.lock().expect("the lock is not poisoned").clone();
        let mut sql = storm.db.sql().await;
        let mut audit_log = Vec::new();
        for tenant in storm.key_tenants() {
            audit_log.extend(read_audit_log(&mut sql, storm.tenants[tenant].stream).await);
        }
        let uuids = |rows: Vec<String>| rows.into_iter().map(|id| id.parse::<uuid::Uuid>().expect("an id"));
        StormHistory {
            runs,
            run_log: read_log(&mut sql).await,
            stored_runs: uuids(sql.texts("SELECT id::text FROM runs").await).map(RunId::from_uuid).collect(),
            stored_commands: uuids(sql.texts("SELECT id::text FROM commands").await)
                .map(|id| CommandId::from_uuid(id).to_string())
                .collect(),
            keys,
            stored_keys: stored_keys(&mut sql).await,
            audit_log,
            audit,
        }
    }
}

async fn stored_keys(sql: &mut guildhall_testkit::SqlConnection) -> std::collections::BTreeSet<EntryId> {
    let query = "SELECT body::json ->> 'object' FROM journal_entries WHERE journal = 1 \
                 AND body::json ->> 'object' LIKE 'key\\_%'";
    sql.texts(query).await.into_iter().map(|object| entry_id(&json!(object))).collect()
}

impl Storm {
    /// Returns the tenants whose audit logs are followed.
    fn key_tenants(&self) -> std::ops::Range<usize> {
        let first = self.size.runners + self.size.appenders;
        first..first + self.size.key_writers
    }

    /// Sends a write once to one replica. Returns whether it was confirmed.
    async fn probe_write(&self, replica: usize) -> bool {
        let tenant = &self.tenants[self.tenants.len() - 1];
        let name = format!("probe-{}", self.probes.fetch_add(1, Ordering::SeqCst));
        let path = format!("/api/v1/tenants/{}/keys", tenant.id);
        let request = self.api.request(replica, Method::POST, &path, &tenant.bearer);
        let request =
            request.header("idempotency-key", &name).json(&json!({ "name": name, "role": "viewer" }));
        let created = self.api.try_send(request).await.filter(|(status, _)| *status == 201);
        if let Some((_, created)) = &created {
            self.record_key(created);
        }
        created.is_some()
    }

    fn record_key(&self, created: &Value) {
        self.keys.lock().expect("the lock is not poisoned").push(entry_id(&created["id"]));
    }
}
