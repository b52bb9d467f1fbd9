//! Fault injection for runs: two replicas, eight runners of which many die, and two readers, while servers, PostgreSQL
//! and NATS are killed with SIGKILL. CI runs a few rounds; `cargo xtask long run-faults` runs all.
//!
//! A runner resends every batch of events with stable ids until it gets their sequence numbers. Every confirmed event
//! must be in the log exactly once, and the readers must have received it. A run whose runner died must be recovered by
//! another runner or released within a bound; downtime caused by a kill does not count.

mod simulated_runner;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use guildhall_domain::ids::{EntryId, RunId};
use guildhall_domain::journal::{Journal, Seq, Stream};
use guildhall_domain::runs::event;
use guildhall_testkit::{EntryPosition, History, Rounds};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::cluster::{Cluster, KillCounts};
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
    let fixture = RunFixture::start().await;
    let runners_and_kills = async {
        let runners = (0..RUNNERS).map(|_| fixture.simulate_runners(rounds.fork())).collect::<Vec<_>>();
        let kills = async {
            let kill_counts = fixture.cluster.kill_at_random(&mut rounds).await;
            fixture.stop.store(true, Ordering::SeqCst);
            kill_counts
        };
        let (kill_counts, stats) = tokio::join!(kills, join_all(runners));
        fixture.done.store(true, Ordering::SeqCst);
        (kill_counts, stats.into_iter().fold(RunnerStats::default(), RunnerStats::merge))
    };
    let ((kill_counts, stats), first_reader, second_reader) =
        tokio::join!(runners_and_kills, fixture.read_events(0), fixture.read_events(1));
    let log = fixture.log().await;
    let (confirmed, entries) = (stats.acknowledged.len(), log.len());
    let history = History {
        acknowledged: stats.acknowledged.clone(),
        log,
        observed: vec![first_reader, second_reader],
    };
    assert_eq!(history.violations(), vec![]);
    fixture.assert_nothing_hangs().await;
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
        loop {
            let done = self.done.load(Ordering::SeqCst);
            let runs = self.runs.lock().expect("the lock is not poisoned").clone();
            let first = if done { 0 } else { runs.len().saturating_sub(POLLED_RUNS) };
            for run in &runs[first..] {
                let after = read_to.entry(*run).or_default();
                while let Some(page) = self.page(replica, *run, *after).await {
                    for event in page["events"].as_array().expect("events") {
                        received.push(event_position(*run, event["seq"].as_i64(), event["eventId"].as_str()));
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

    async fn log(&self) -> Vec<EntryPosition> {
        let sql = "SELECT owner || ' ' || seq || ' ' || coalesce(body::json ->> 'id', '') FROM journal_entries \
                   WHERE journal = 2 ORDER BY owner, seq";
        let rows = self.cluster.db.sql().await.texts(sql).await;
        let parse_row = |row: &String| {
            let mut columns = row.splitn(3, ' ');
            let run =
                columns.next().and_then(|owner| owner.parse().ok()).map(RunId::from_uuid).expect("a run");
            let seq = columns.next().and_then(|seq| seq.parse().ok());
            event_position(run, seq, columns.next().filter(|runner_event_id| !runner_event_id.is_empty()))
        };
        rows.iter().map(parse_row).collect()
    }

    async fn assert_nothing_hangs(&self) {
        let mut sql = self.cluster.db.sql().await;
        let deadline = Instant::now() + DETECTION_TIMEOUT;
        while sql.number("SELECT count(*) FROM leases").await > 0 {
            assert!(Instant::now() < deadline, "a lease is left without a runner");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let running = "SELECT count(*) FROM commands WHERE state = 'running'";
        assert_eq!(sql.number(running).await, 0, "a command is running without a runner");
        let duplicate_ends = "SELECT count(*) FROM (SELECT FROM journal_entries WHERE kind = 'terminal_status' \
                     GROUP BY owner, body::json ->> 'commandId' HAVING count(*) > 1) AS ended";
        assert_eq!(sql.number(duplicate_ends).await, 0, "a command or run ended twice");
        let wrong_folds = "SELECT count(*) FROM run_folds AS kept WHERE scope = '00000000-0000-0000-0000-000000000000' \
                          AND (fold::json ->> 'n')::bigint <> (SELECT count(*) FROM journal_entries AS entry \
                          WHERE entry.journal = 2 AND entry.owner = kept.run)";
        assert_eq!(sql.number(wrong_folds).await, 0, "a stored fold does not match the log");
    }
}

/// Returns the position of an event. Its id derives from the runner's event id; for server events from the number.
fn event_position(run: RunId, seq: Option<i64>, runner_event_id: Option<&str>) -> EntryPosition {
    let seq = seq.and_then(Seq::new).expect("a number");
    let id: EntryId = match runner_event_id {
        Some(runner_event_id) => event::entry_id(run, runner_event_id).expect("an id"),
        None => event::server_entry_id(run, "seen", Uuid::nil(), seq.get()),
    };
    (Stream { journal: Journal::Run, owner: run.as_uuid() }, seq, id)
}
