//! Reconnects and engine restarts: a reader gets the complete log in the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use guildhall_testkit::{PrivateEngines, TestDb};
use serde_json::{Value, json};

use super::{StreamFixture, data};
use crate::support::Setup;
use crate::support::cluster::Cluster;
use crate::support::events::{EventStream, StreamEvent};
use crate::support::runs::assistant_message;

const RECONNECTS: usize = 20;

/// What the appender and the test share.
#[derive(Debug, Default)]
struct AppenderState {
    is_stopped: AtomicBool,
    is_postgres_down: AtomicBool,
    sent_without_postgres: AtomicUsize,
}

/// Kills or restarts an engine. PostgreSQL stays down until an append was sent.
fn inject_fault(round: usize, engines: &PrivateEngines, progress: &AppenderState) {
    match round % 5 {
        1 => {
            engines.postgres.kill();
            let sent_before = progress.sent_without_postgres.load(Ordering::SeqCst);
            progress.is_postgres_down.store(true, Ordering::SeqCst);
            let deadline = Instant::now() + Duration::from_secs(60);
            while progress.sent_without_postgres.load(Ordering::SeqCst) == sent_before {
                assert!(Instant::now() < deadline, "nothing is sent while PostgreSQL is down");
                std::thread::sleep(Duration::from_millis(5));
            }
            progress.is_postgres_down.store(false, Ordering::SeqCst);
            engines.postgres.restart().expect("a running PostgreSQL");
        }
        2 => engines.nats.kill(),
        4 => engines.nats.restart().expect("a running NATS"),
        _ => {}
    }
}

/// Appends events until stopped. Repeats each event with the same id until it is confirmed.
async fn append_until_stopped(cluster: &Cluster, fixture: &StreamFixture, progress: &AppenderState) -> usize {
    let mut written = 0;
    while !progress.is_stopped.load(Ordering::SeqCst) {
        let event = json!([assistant_message(&format!("e{written}"), &fixture.command, "text")]);
        let server = if written % 2 == 0 { &cluster.first } else { &cluster.second };
        let is_postgres_down = progress.is_postgres_down.load(Ordering::SeqCst);
        progress.sent_without_postgres.fetch_add(usize::from(is_postgres_down), Ordering::SeqCst);
        if server.append_events(&fixture.claim, event).await.status == 200 {
            written += 1;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    written
}

/// Reads events from one connection until the target count, the end of the connection, or a pause of 5 s.
async fn read_events(stream: &mut EventStream, received: &mut Vec<StreamEvent>, target: usize) {
    while received.len() < target {
        let Ok(Some(event)) = tokio::time::timeout(Duration::from_secs(5), stream.next()).await else {
            return;
        };
        assert_ne!(event.kind, "gap", "{event:?}");
        if event.kind == "closed" {
            return;
        }
        received.push(event);
    }
}

/// Reconnects, each time to the other replica, until the target count of events.
async fn follow(
    cluster: &Cluster,
    fixture: &StreamFixture,
    received: &mut Vec<StreamEvent>,
    target: usize,
    turn: &mut usize,
) {
    let began = Instant::now();
    while received.len() < target {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{} of {target} events in a minute",
            received.len()
        );
        *turn += 1;
        let server = if turn.is_multiple_of(2) { &cluster.first } else { &cluster.second };
        let cursor = received.last().and_then(|last| last.id.clone());
        let response =
            server.try_open_stream(&fixture.path, &cluster.operator.token, cursor.as_deref()).await;
        match response {
            Ok(response) if response.status() == 200 => {
                read_events(&mut EventStream::new(response), received, target).await;
            }
            // PostgreSQL is down.
            Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

// covers: R9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reconnects_and_engine_restarts_deliver_the_complete_log() {
    let engines = Arc::new(PrivateEngines::start());
    let db = TestDb::migrated(engines.urls()).await;
    let cluster = Cluster::with_setup(Setup::with_private_engines(&db, &engines.urls()), db).await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let (shared, progress) = (Arc::new((cluster, fixture)), Arc::new(AppenderState::default()));
    let appending = {
        let (shared, progress) = (Arc::clone(&shared), Arc::clone(&progress));
        guildhall_testkit::spawn_task(
            async move { append_until_stopped(&shared.0, &shared.1, &progress).await },
        )
    };
    let (cluster, fixture) = (&shared.0, &shared.1);
    let (mut received, mut turn) = (Vec::new(), 0);
    for round in 0..RECONNECTS {
        let (engines, progress) = (Arc::clone(&engines), Arc::clone(&progress));
        // On a thread of its own: the appender and the server keep running while an engine is down.
        let fault = tokio::task::spawn_blocking(move || inject_fault(round, &engines, &progress));
        fault.await.expect("no panic");
        let target = received.len() + 5;
        follow(cluster, fixture, &mut received, target, &mut turn).await;
    }
    progress.is_stopped.store(true, Ordering::SeqCst);
    let written = appending.await.expect("no panic");
    let log: Vec<Value> = cluster.list_events(&fixture.run).await;
    assert!(log.len() > written && written > RECONNECTS, "{written} events were appended");
    follow(cluster, fixture, &mut received, log.len(), &mut turn).await;
    assert!(turn >= RECONNECTS);
    assert_eq!(data(&received), log);
}
