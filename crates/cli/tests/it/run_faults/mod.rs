//! Two replicas, eight runners of which many die, two readers, and a SIGKILL every moment: over servers, PostgreSQL and
//! NATS. CI runs a few; `cargo xtask long run-faults` runs them all.
//!
//! A runner sends every batch of events under stable ids until it is told where they stand. Whatever it was told must
//! stand there, once, and the readers must have seen it. A run whose runner died must be taken over, or offered again, in
//! time; how long something was down through a kill does not count.

mod player;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use guildhall_domain::ids::{EntryId, RunId};
use guildhall_domain::journal::{Journal, Seq, Stream};
use guildhall_domain::runs::event;
use guildhall_testkit::{History, Rounds, Sighting};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::fleet::{Fleet, Killed};
use player::Tally;

const PLAYERS: usize = 8;
const LEASE: Duration = Duration::from_secs(4);
const GRACE: Duration = Duration::from_secs(1);

/// A lost runner must be noticed this long after its last sign of life.
const NOTICED_WITHIN: Duration = Duration::from_secs(4 + 1 + 15);

/// Runs that a reader looks at while others are written: the newest. At the end it reads them all.
const READ_AT_ONCE: usize = 8;

// covers: R9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_event_is_lost_or_doubled_and_no_run_hangs_whatever_is_killed() {
    let mut rounds = Rounds::of_this_run(20);
    let began = Instant::now();
    let world = World::start().await;
    let playing = async {
        let players = (0..PLAYERS).map(|_| world.play(rounds.fork())).collect::<Vec<_>>();
        let killing = async {
            let killed = world.fleet.kill_at_random(&mut rounds).await;
            world.stop.store(true, Ordering::SeqCst);
            killed
        };
        let (killed, tallies) = tokio::join!(killing, join_all(players));
        world.done.store(true, Ordering::SeqCst);
        (killed, tallies.into_iter().fold(Tally::default(), Tally::and))
    };
    let ((killed, tally), one, other) = tokio::join!(playing, world.read(0), world.read(1));
    let log = world.log().await;
    let (confirmed, entries) = (tally.acknowledged.len(), log.len());
    let history = History { acknowledged: tally.acknowledged.clone(), log, followed: vec![one, other] };
    assert_eq!(history.faults(), vec![]);
    world.assert_nothing_hangs().await;
    assert!(
        confirmed > 200 && tally.died > 3,
        "{confirmed} confirmed, {} died: nothing was tested",
        tally.died
    );
    let down = world.fleet.downtime();
    rounds.report(&report(&killed, &tally, confirmed, entries, began.elapsed(), down));
}

fn report(
    killed: &Killed,
    tally: &Tally,
    confirmed: usize,
    entries: usize,
    took: Duration,
    down: Duration,
) -> String {
    let mut text = String::from("| killed | times |\n|---|---|\n");
    for (what, times) in killed {
        let _infallible = writeln!(text, "| {what} | {times} |");
    }
    let _infallible = writeln!(
        text,
        "\n{PLAYERS} runners at a time on 2 replicas, 2 readers, {} s, of which something was down for {} s: {} runs, \
         {confirmed} times an event was confirmed (some batches are sent twice), {entries} are in the log. Faults found by the history checker: none.\n\n\
         {} runners died at work and {} more lost their run while something was down. {} runs were taken over by a \
         replacement and {} were offered again without one, {:.1} s after the last sign of life at the latest (bound {} s: \
         lease {} s, grace {} s, 15 s). No command ended twice, no lease was left, and every kept fold counts the log.",
        took.as_secs(),
        down.as_secs(),
        tally.runs,
        tally.died,
        tally.lost,
        tally.recovered,
        tally.reoffered,
        tally.slowest.as_secs_f64(),
        NOTICED_WITHIN.as_secs(),
        LEASE.as_secs(),
        GRACE.as_secs(),
    );
    text
}

struct World {
    fleet: Fleet,
    tenant: String,
    bearer: String,
    enrolment: String,
    runs: Mutex<Vec<RunId>>,
    /// Runners finish what they have.
    stop: AtomicBool,
    /// Readers read to the end.
    done: AtomicBool,
}

impl World {
    async fn start() -> Self {
        let fleet = Fleet::start(&[
            ("GUILDHALL_RUNS_LEASE", "4s"),
            ("GUILDHALL_RUNS_LEASE_GRACE", "1s"),
            ("GUILDHALL_RUNS_TEND_EVERY", "500ms"),
        ])
        .await;
        let access = fleet.operator().await;
        let (tenant, bearer) = fleet.tenant(&access, "acme").await;
        let path = format!("/api/v1/tenants/{tenant}/enrolments");
        let made = fleet.make(0, &path, &access, "enrolment", &json!({ "name": "runners" })).await;
        let enrolment = made.expect("made")["secret"].as_str().expect("a secret").to_owned();
        let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { fleet, tenant, bearer, enrolment, runs: Mutex::default(), stop, done }
    }

    /// Pages through the newest runs on one replica, and at the end through all. Returns what it saw.
    async fn read(&self, replica: usize) -> Vec<Sighting> {
        let (mut seen, mut read_to) = (Vec::new(), BTreeMap::<RunId, i64>::new());
        loop {
            let done = self.done.load(Ordering::SeqCst);
            let runs = self.runs.lock().expect("one holder").clone();
            let skipped = if done { 0 } else { runs.len().saturating_sub(READ_AT_ONCE) };
            for run in &runs[skipped..] {
                let after = read_to.entry(*run).or_default();
                while let Some(page) = self.page(replica, *run, *after).await {
                    for event in page["events"].as_array().expect("events") {
                        seen.push(sighting(*run, event["seq"].as_i64(), event["eventId"].as_str()));
                    }
                    *after = page["nextAfterSeq"].as_i64().expect("a number");
                    if page["hasMore"] == false {
                        break;
                    }
                }
            }
            if done {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Reads a page; none where the replica does not answer now. At the end it must.
    async fn page(&self, replica: usize, run: RunId, after: i64) -> Option<Value> {
        let path = format!("/api/v1/runs/{run}/events?afterSeq={after}&limit=200");
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let done = self.done.load(Ordering::SeqCst);
            let answer = self.fleet.request(replica, Method::GET, &path, &self.bearer).send().await;
            if let Ok(answer) = answer
                && answer.status() == 200
                && let Ok(page) = answer.json().await
            {
                return Some(page);
            }
            if !done {
                return None;
            }
            assert!(Instant::now() < deadline, "{run} cannot be read on replica {replica}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn log(&self) -> Vec<Sighting> {
        let sql = "SELECT owner || ' ' || seq || ' ' || coalesce(body::json ->> 'id', '') FROM journal_entries \
                   WHERE journal = 2 ORDER BY owner, seq";
        let rows = self.fleet.db.sql().await.texts(sql).await;
        let read = |row: &String| {
            let mut words = row.splitn(3, ' ');
            let run = words.next().and_then(|owner| owner.parse().ok()).map(RunId::from_uuid).expect("a run");
            let seq = words.next().and_then(|seq| seq.parse().ok());
            sighting(run, seq, words.next().filter(|own| !own.is_empty()))
        };
        rows.iter().map(read).collect()
    }

    async fn assert_nothing_hangs(&self) {
        let mut sql = self.fleet.db.sql().await;
        let deadline = Instant::now() + NOTICED_WITHIN;
        while sql.number("SELECT count(*) FROM leases").await > 0 {
            assert!(Instant::now() < deadline, "a run is still held, and nobody is there to hold it");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let running = "SELECT count(*) FROM commands WHERE state = 'running'";
        assert_eq!(sql.number(running).await, 0, "a command runs, and nobody runs it");
        let twice = "SELECT count(*) FROM (SELECT FROM journal_entries WHERE kind = 'terminal_status' \
                     GROUP BY owner, body::json ->> 'commandId' HAVING count(*) > 1) AS ended";
        assert_eq!(sql.number(twice).await, 0, "something ended twice");
        let miscounted = "SELECT count(*) FROM run_folds AS kept WHERE scope = '00000000-0000-0000-0000-000000000000' \
                          AND (fold::json ->> 'n')::bigint <> (SELECT count(*) FROM journal_entries AS entry \
                          WHERE entry.journal = 2 AND entry.owner = kept.run)";
        assert_eq!(sql.number(miscounted).await, 0, "a kept fold does not count the log");
    }
}

/// Names an event by the runner's own id; one of the server's by its number.
fn sighting(run: RunId, seq: Option<i64>, own: Option<&str>) -> Sighting {
    let seq = seq.and_then(Seq::new).expect("a number");
    let id: EntryId = match own {
        Some(own) => event::entry_id(run, own).expect("an id"),
        None => event::servers_entry(run, "seen", Uuid::nil(), seq.get()),
    };
    (Stream { journal: Journal::Run, owner: run.as_uuid() }, seq, id)
}
