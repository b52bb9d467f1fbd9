//! Workers of the outbox that are killed, and connections that break. What was committed is done at least once.
//!
//! The worker is a process of its own: this test binary, started again.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use guildhall_domain::ids::EffectId;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_service::ops::outbox::{Effect, Handler, Outbox, Pace, Undone};
use guildhall_testkit::TestDb;
use secrecy::ExposeSecret;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::outbox::{Bell, KIND, enqueue_many, worker};
use crate::store;

const URL: &str = "GUILDHALL_OUTBOX_WORKER_URL";

/// A worker that is silent for this long is taken for dead: short, for a test that waits for it.
const QUICK: Pace = Pace { attempt: Duration::from_millis(1500), silence: Duration::from_secs(2) };

#[tokio::test]
async fn what_a_killed_worker_had_taken_comes_back_and_is_done_by_another() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let ids = enqueue_many(&store, 100).await;
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "outbox_kills::is_the_worker_when_started_as_one", "--nocapture"])
        .env(URL, db.url().expose_secret())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started again");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let stuck = lines.find(|line| line.as_ref().is_ok_and(|line| line.ends_with("stuck")));
    assert!(stuck.is_some(), "the worker ended before it was killed");
    child.kill().expect("killed");
    child.wait().expect("reaped");

    let mut sql = db.sql().await;
    let taken = sql.number("SELECT count(*) FROM outbox WHERE claim IS NOT NULL").await;
    assert_eq!(taken, 20, "the batch that it was at");
    let bell = Arc::new(Bell::default());
    let heir = worker(&store, &bell, QUICK);
    let deadline = Instant::now() + Duration::from_secs(30);
    while sql.number("SELECT count(*) FROM outbox").await > 0 {
        assert!(Instant::now() < deadline, "{} of {} were done", bell.rung().len(), ids.len());
        heir.round().await.expect("a round");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(bell.rung(), ids, "none was lost");
}

/// The effects are there for the world to see, and the connection breaks before the worker can say so.
#[tokio::test]
async fn what_a_worker_did_and_could_not_say_is_done_again() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (mut gate, mut watch) = (db.sql().await, db.sql().await);
    let ids = enqueue_many(&store, 3).await;
    let held = Arc::new(Held { bell: Bell::default(), go: Semaphore::new(0) });
    let handlers: Vec<Arc<dyn Handler>> = vec![Arc::<Held>::clone(&held)];
    let cut_off = Outbox::new(store.clone(), handlers, QUICK, CancellationToken::new()).expect("a handler");
    let cut = async {
        let deadline = Instant::now() + Duration::from_secs(10);
        while held.bell.rung().len() < 3 {
            assert!(Instant::now() < deadline, "they are not performed");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        gate.execute("BEGIN; LOCK TABLE outbox IN SHARE MODE").await;
        held.go.add_permits(3);
        let waiting = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while watch.number(format!("SELECT count(*) {waiting}")).await < 3 {
            assert!(Instant::now() < deadline, "they do not say so");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        watch.number(format!("SELECT count(pg_terminate_backend(pid)) {waiting}")).await;
        gate.execute("COMMIT").await;
    };
    let (round, ()) = tokio::join!(cut_off.round(), cut);
    round.expect_err("its connections are gone");

    let bell = Arc::new(Bell::default());
    let heir = worker(&store, &bell, QUICK);
    let deadline = Instant::now() + Duration::from_secs(30);
    while watch.number("SELECT count(*) FROM outbox").await > 0 {
        assert!(Instant::now() < deadline, "they do not come back");
        heir.round().await.expect("a round");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!((held.bell.rung(), bell.rung()), (ids.clone(), ids));
}

/// Connections break all the time: before a batch is taken, and while it is taken.
#[tokio::test]
async fn with_connections_breaking_all_the_time_every_effect_is_done() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (mut breaking, mut looking) = (db.sql().await, db.sql().await);
    let ids = enqueue_many(&store, 1000).await;
    let bell = Arc::new(Bell::default());
    let tried = worker(&store, &bell, QUICK);
    let failed = AtomicU32::new(0);
    let deadline = Instant::now() + Duration::from_secs(60);
    let breaker = async {
        let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'guildhall'";
        while failed.load(Ordering::Relaxed) < 5 {
            assert!(Instant::now() < deadline, "no round noticed");
            breaking.number(kill).await;
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    };
    let work = async {
        while looking.number("SELECT count(*) FROM outbox").await > 0 {
            assert!(Instant::now() < deadline, "effects are left");
            failed.fetch_add(u32::from(tried.round().await.is_err()), Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::join!(breaker, work);
    let mut rung: Vec<EffectId> = bell.rung();
    rung.dedup();
    assert_eq!(rung, ids);
}

/// Rings, and does not come back before it is let go.
#[derive(Debug)]
struct Held {
    bell: Bell,
    go: Semaphore,
}

impl Handler for Held {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn perform<'a>(&'a self, effect: &'a Effect) -> BoxFuture<'a, Result<(), Undone>> {
        Box::pin(async move {
            let rung = self.bell.perform(effect).await;
            self.go.acquire().await.expect("never closed").forget();
            rung
        })
    }
}

/// Says that it has begun, and never ends.
#[derive(Debug)]
struct Stuck;

impl Handler for Stuck {
    fn kind(&self) -> &'static str {
        KIND
    }

    #[expect(clippy::print_stdout, reason = "two processes talk to each other")]
    fn perform<'a>(&'a self, _: &'a Effect) -> BoxFuture<'a, Result<(), Undone>> {
        println!("stuck");
        Box::pin(std::future::pending())
    }
}

/// Not a test by itself: the other process. It does nothing unless it was started as the worker.
#[tokio::test]
async fn is_the_worker_when_started_as_one() {
    let Some(url) = std::env::var_os(URL) else { return };
    let store = store(url.into_string().expect("text").into());
    let pace = Pace { attempt: Duration::from_secs(600), silence: QUICK.silence };
    let outbox = Outbox::new(store, vec![Arc::new(Stuck)], pace, CancellationToken::new());
    outbox.expect("a handler is there").round().await.expect("a round");
}
