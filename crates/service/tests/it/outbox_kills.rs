//! Killed outbox workers and broken connections: every committed effect is performed at least once.
//!
//! The killed worker is a separate process: this test binary, started again.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use guildhall_domain::ids::EffectId;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_service::ops::outbox::{EffectAttempt, EffectError, Handler, Outbox, OutboxTimeouts};
use guildhall_testkit::TestDb;
use secrecy::ExposeSecret;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::outbox::{KIND, RecordingHandler, enqueue_many, worker};
use crate::store;

const WORKER_URL_VARIABLE: &str = "GUILDHALL_OUTBOX_WORKER_URL";

/// Short timeouts, so that the test does not wait long for a dead worker's claims to expire.
const SHORT_TIMEOUTS: OutboxTimeouts =
    OutboxTimeouts { attempt: Duration::from_millis(1500), visibility_timeout: Duration::from_secs(2) };

#[tokio::test]
async fn effects_of_a_killed_worker_are_performed_by_another() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let ids = enqueue_many(&store, 100).await;
    let mut child = Command::new(std::env::current_exe().expect("the path of this binary"))
        .args(["--exact", "outbox_kills::worker_process_entry_point", "--ignored", "--nocapture"])
        .env(WORKER_URL_VARIABLE, db.url().expose_secret())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the worker process starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let hanging_line = lines.find(|line| line.as_ref().is_ok_and(|line| line.ends_with("hanging")));
    assert!(hanging_line.is_some(), "the worker exited before it was killed");
    child.kill().expect("killed");
    child.wait().expect("reaped");

    let mut sql = db.sql().await;
    let claimed = sql.number("SELECT count(*) FROM outbox WHERE claim IS NOT NULL").await;
    assert!(claimed >= 20, "the claimed batch: {claimed}");
    let handler = Arc::new(RecordingHandler::default());
    let successor = worker(&store, &handler, SHORT_TIMEOUTS);
    let deadline = Instant::now() + Duration::from_secs(120);
    while sql.number("SELECT count(*) FROM outbox").await > 0 {
        assert!(
            Instant::now() < deadline,
            "{} of {} effects were performed",
            handler.performed().len(),
            ids.len()
        );
        successor.round().await.expect("a round");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(handler.performed(), ids, "an effect was lost");
}

/// The connection breaks after the effects are performed and before they are marked as done.
#[tokio::test]
async fn unconfirmed_effects_are_performed_again() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (mut lock_connection, mut observer) = (db.sql().await, db.sql().await);
    let ids = enqueue_many(&store, 3).await;
    let blocking_handler =
        Arc::new(BlockingHandler { handler: RecordingHandler::default(), release: Semaphore::new(0) });
    let handlers: Vec<Arc<dyn Handler>> = vec![Arc::<BlockingHandler>::clone(&blocking_handler)];
    let disconnected_worker =
        Outbox::new(store.clone(), handlers, SHORT_TIMEOUTS, CancellationToken::new()).expect("a handler");
    let disconnect = async {
        let deadline = Instant::now() + Duration::from_secs(120);
        while blocking_handler.handler.performed().len() < 3 {
            assert!(Instant::now() < deadline, "the effects were not performed");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        lock_connection.execute("BEGIN; LOCK TABLE outbox IN SHARE MODE").await;
        blocking_handler.release.add_permits(3);
        let waiting = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while observer.number(format!("SELECT count(*) {waiting}")).await < 3 {
            assert!(Instant::now() < deadline, "the worker does not mark the effects as done");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        observer.number(format!("SELECT count(pg_terminate_backend(pid)) {waiting}")).await;
        lock_connection.execute("COMMIT").await;
    };
    // A round does not wait for slow effects, so the error may be that of a later one.
    let run_until_error = async {
        let deadline = Instant::now() + Duration::from_secs(120);
        while disconnected_worker.round().await.is_ok() {
            assert!(Instant::now() < deadline, "the connections are not broken");
        }
    };
    tokio::join!(run_until_error, disconnect);

    let handler = Arc::new(RecordingHandler::default());
    let successor = worker(&store, &handler, SHORT_TIMEOUTS);
    let deadline = Instant::now() + Duration::from_secs(120);
    while observer.number("SELECT count(*) FROM outbox").await > 0 {
        assert!(Instant::now() < deadline, "the effects are not retried");
        successor.round().await.expect("a round");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!((blocking_handler.handler.performed(), handler.performed()), (ids.clone(), ids));
}

/// Connections break repeatedly, before and during the claim of a batch.
#[tokio::test]
async fn every_effect_is_performed_despite_broken_connections() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (mut breaker_connection, mut observer) = (db.sql().await, db.sql().await);
    let ids = enqueue_many(&store, 1000).await;
    let handler = Arc::new(RecordingHandler::default());
    let worker_under_test = worker(&store, &handler, SHORT_TIMEOUTS);
    let failed_rounds = AtomicU32::new(0);
    let deadline = Instant::now() + Duration::from_secs(120);
    let breaker = async {
        let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'guildhall'";
        while failed_rounds.load(Ordering::Relaxed) < 5 {
            assert!(Instant::now() < deadline, "no round failed");
            breaker_connection.number(kill).await;
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    };
    let run_worker = async {
        while observer.number("SELECT count(*) FROM outbox").await > 0 {
            assert!(Instant::now() < deadline, "effects remain");
            failed_rounds.fetch_add(u32::from(worker_under_test.round().await.is_err()), Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::join!(breaker, run_worker);
    let mut performed: Vec<EffectId> = handler.performed();
    performed.dedup();
    assert_eq!(performed, ids);
}

/// Performs the effect, and returns only when released.
#[derive(Debug)]
struct BlockingHandler {
    handler: RecordingHandler,
    release: Semaphore,
}

impl Handler for BlockingHandler {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn perform<'a>(&'a self, effect: &'a EffectAttempt) -> BoxFuture<'a, Result<(), EffectError>> {
        Box::pin(async move {
            let performed = self.handler.perform(effect).await;
            self.release.acquire().await.expect("never closed").forget();
            performed
        })
    }
}

/// Prints a line when it starts, and never ends.
#[derive(Debug)]
struct HangingHandler;

impl Handler for HangingHandler {
    fn kind(&self) -> &'static str {
        KIND
    }

    #[expect(clippy::print_stdout, reason = "the parent process reads this line")]
    fn perform<'a>(&'a self, _: &'a EffectAttempt) -> BoxFuture<'a, Result<(), EffectError>> {
        println!("hanging");
        Box::pin(std::future::pending())
    }
}

/// The entry point of the worker process. Does nothing unless started as the worker.
#[tokio::test]
#[ignore = "not a test: a process of effects_of_a_killed_worker_are_performed_by_another"]
async fn worker_process_entry_point() {
    let Some(url) = std::env::var_os(WORKER_URL_VARIABLE) else { return };
    let store = store(url.into_string().expect("text").into());
    let timeouts = OutboxTimeouts {
        attempt: Duration::from_secs(600),
        visibility_timeout: SHORT_TIMEOUTS.visibility_timeout,
    };
    let outbox = Outbox::new(store, vec![Arc::new(HangingHandler)], timeouts, CancellationToken::new());
    outbox.expect("there is a handler").round().await.expect("a round");
}
