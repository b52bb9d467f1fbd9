//! Fault injection for runs: two replicas, eight runners of which many die, and two readers, while servers, PostgreSQL
//! and NATS are killed with SIGKILL. CI runs a few rounds; `cargo xtask long run-faults` runs all.
//!
//! A runner resends every batch of events with stable ids until it gets their sequence numbers. Every confirmed event
//! must be in the log exactly once, and the readers must have received it. A run whose runner died must be recovered by
//! another runner or released within a bound; downtime caused by a kill does not count.

mod simulated_runner;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use guildhall_domain::ids::RunId;
use guildhall_testkit::{EntryPosition, History, Rounds};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::{Cluster, KillCounts};
use crate::support::run_events::{EventPositions, assert_nothing_hangs, read_log};
use simulated_runner::RunnerStats;

const RUNNERS: usize = 8;
const LEASE: Duration = Duration::from_secs(4);
const GRACE: Duration = Duration::from_secs(1);

/// A lost runner must be detected this long after its last heartbeat.
const DETECTION_TIMEOUT: Duration = Duration::from_secs(4 + 1 + 15);

/// Number of newest runs that a reader polls during the test. At the end it reads all runs.
const POLLED_RUNS: usize = 8;

// covers: R9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_events_survive_kills_without_loss_and_no_run_hangs() {
    let mut rounds = Rounds::from_env(20);
    let started = Instant::now();
    let fixture = Arc::new(RunFixture::start().await);
    let runners: Vec<_> = (0..RUNNERS)
        .map(|_| {
            let (fixture, rounds) = (Arc::clone(&fixture), rounds.fork());
            guildhall_testkit::spawn_task(async move { fixture.simulate_runners(rounds).await })
        })
        .collect();
    let readers = [0, 1].map(|replica| {
        let fixture = Arc::clone(&fixture);
        guildhall_testkit::spawn_task(async move { fixture.read_events(replica).await })
    });
    let kill_counts = fixture.cluster.kill_at_random(&mut rounds).await;
    fixture.stop.store(true, Ordering::SeqCst);
    let stats = try_join_all(runners).await.expect("the runners do not panic");
    let stats = stats.into_iter().fold(RunnerStats::default(), RunnerStats::merge);
    fixture.done.store(true, Ordering::SeqCst);
    let observed = try_join_all(readers).await.expect("the readers do not panic");
    let log = read_log(&mut fixture.cluster.db.sql().await).await;
    let (confirmed, entries) = (stats.acknowledged.len(), log.len());
    let history = History { acknowledged: stats.acknowledged.clone(), log, observed };
    assert_eq!(history.violations(), vec![]);
    assert_nothing_hangs(&mut fixture.cluster.db.sql().await, DETECTION_TIMEOUT).await;
    assert!(
        confirmed > 200 && stats.died > 3,
        "only {confirmed} events confirmed and {} runners died, too few for a test",
        stats.died
    );
    let downtime = fixture.cluster.downtime();
    rounds.report(&report(&kill_counts, &stats, confirmed, entries, started.elapsed(), downtime));
}

fn report(
    kill_counts: &KillCounts,
    stats: &RunnerStats,
    confirmed: usize,
    entries: usize,
    elapsed: Duration,
    downtime: Duration,
) -> String {
    let mut text = String::from("| killed | times |\n|---|---|\n");
    for (what, times) in kill_counts {
        let _infallible = writeln!(text, "| {what} | {times} |");
    }
    let _infallible = writeln!(
        text,
        "\n{RUNNERS} concurrent runners on 2 replicas, 2 readers, {} s, of which {} s downtime: {} runs, \
         {confirmed} event confirmations (some batches are sent twice), {entries} events in the log. Violations found by the history checker: none.\n\n\
         {} runners died during a run and {} more lost their lease during downtime. {} runs were recovered by a \
         replacement and {} were released without one, at most {:.1} s after the last heartbeat (bound {} s: \
         lease {} s, grace {} s, 15 s). No command ended twice, no lease was left, and every stored fold matches the log.",
        elapsed.as_secs(),
        downtime.as_secs(),
        stats.runs,
        stats.died,
        stats.lost,
        stats.recovered,
        stats.released,
        stats.slowest_detection.as_secs_f64(),
        DETECTION_TIMEOUT.as_secs(),
        LEASE.as_secs(),
        GRACE.as_secs(),
    );
    text
}

struct RunFixture {
    cluster: Cluster,
    tenant: String,
    bearer: String,
    enrolment: String,
    runs: Mutex<Vec<RunId>>,
    /// Tells runners to finish their current run.
    stop: AtomicBool,
    /// Tells readers to read to the end.
    done: AtomicBool,
}

impl RunFixture {
    async fn start() -> Self {
        let cluster = Cluster::start(&[
            ("GUILDHALL_RUNS_LEASE", "4s"),
            ("GUILDHALL_RUNS_LEASE_GRACE", "1s"),
            ("GUILDHALL_RUNS_TEND_EVERY", "500ms"),
        ])
        .await;
        let access = cluster.create_operator().await;
        let (tenant, bearer) = cluster.create_tenant(&access, "acme").await;
        let path = format!("/api/v1/tenants/{tenant}/enrolments");
        let created = cluster.create(0, &path, &access, "enrolment", &json!({ "name": "runners" })).await;
        let enrolment = created.expect("created")["secret"].as_str().expect("a secret").to_owned();
        let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { cluster, tenant, bearer, enrolment, runs: Mutex::default(), stop, done }
    }

    /// Pages through the newest runs on one replica, and at the end through all runs. Returns the events.
    async fn read_events(&self, replica: usize) -> Vec<EntryPosition> {
        let (mut received, mut read_to) = (Vec::new(), BTreeMap::<RunId, i64>::new());
        let mut positions = EventPositions::default();
        loop {
            let done = self.done.load(Ordering::SeqCst);
            let runs = self.runs.lock().expect("the lock is not poisoned").clone();
            let first = if done { 0 } else { runs.len().saturating_sub(POLLED_RUNS) };
            for run in &runs[first..] {
                let after = read_to.entry(*run).or_default();
                while let Some(page) = self.page(replica, *run, *after).await {
                    for event in page["events"].as_array().expect("events") {
                        received.push(positions.of_view(*run, event));
                    }
                    *after = page["nextAfterSeq"].as_i64().expect("a number");
                    if page["hasMore"] == false {
                        break;
                    }
                }
            }
            if done {
                return received;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Reads a page. Returns `None` if the replica does not respond; after `done` it must respond.
    async fn page(&self, replica: usize, run: RunId, after: i64) -> Option<Value> {
        let path = format!("/api/v1/runs/{run}/events?afterSeq={after}&limit=200");
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let done = self.done.load(Ordering::SeqCst);
            let response = self.cluster.request(replica, Method::GET, &path, &self.bearer).send().await;
            if let Ok(response) = response
                && response.status() == 200
                && let Ok(page) = response.json().await
            {
                return Some(page);
            }
            if !done {
                return None;
            }
            assert!(Instant::now() < deadline, "cannot read {run} on replica {replica}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
