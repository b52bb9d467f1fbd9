//! Reloads and engine restarts: what a reader has in the end is the log.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use guildhall_testkit::{PrivateEngines, TestDb};
use serde_json::{Value, json};

use super::{Stage, data};
use crate::support::Setup;
use crate::support::events::{Event, Events};
use crate::support::people::World;
use crate::support::runs::said;

const RELOADS: usize = 20;

/// Appends until told to stop, each event under the same id until it is confirmed.
async fn write(world: &World, stage: &Stage, stop: &AtomicBool) -> usize {
    let mut written = 0;
    while !stop.load(Ordering::SeqCst) {
        let event = json!([said(&format!("e{written}"), &stage.command, "words")]);
        let server = if written % 2 == 0 { &world.one } else { &world.other };
        if server.append(&stage.held, event).await.status == 200 {
            written += 1;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    written
}

/// Reads facts over one connection until there are so many, the connection ends, or nothing comes for some time.
async fn read_on(stream: &mut Events, seen: &mut Vec<Event>, until: usize) {
    while seen.len() < until {
        let Ok(Some(event)) = tokio::time::timeout(Duration::from_secs(5), stream.next()).await else {
            return;
        };
        assert_ne!(event.kind, "gap", "{event:?}");
        if event.kind == "closed" {
            return;
        }
        seen.push(event);
    }
}

/// Connects again and again, each time to the other replica, until there are so many facts.
async fn follow(world: &World, stage: &Stage, seen: &mut Vec<Event>, until: usize, turn: &mut usize) {
    let began = Instant::now();
    while seen.len() < until {
        assert!(began.elapsed() < Duration::from_secs(60), "{} of {until} facts in a minute", seen.len());
        *turn += 1;
        let server = if turn.is_multiple_of(2) { &world.one } else { &world.other };
        let cursor = seen.last().and_then(|last| last.id.clone());
        let answer = server.try_events(&stage.path, &world.operator.access, cursor.as_deref()).await;
        match answer {
            Ok(response) if response.status() == 200 => {
                read_on(&mut Events::of(response), seen, until).await;
            }
            // PostgreSQL is away.
            Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

// covers: R9, C9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_reloads_over_both_replicas_and_restarts_of_the_engines_give_the_log() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let world = World::on(Setup::on_private(&db, &engines.addresses()), db).await;
    let stage = Stage::new(&world, "acme").await;
    let stop = AtomicBool::new(false);
    let reading = async {
        let (mut seen, mut turn) = (Vec::new(), 0);
        for reload in 0..RELOADS {
            match reload % 5 {
                1 => {
                    engines.postgres.kill();
                    engines.postgres.up().expect("recovered");
                }
                2 => engines.nats.kill(),
                4 => engines.nats.up().expect("started"),
                _ => {}
            }
            let until = seen.len() + 5;
            follow(&world, &stage, &mut seen, until, &mut turn).await;
        }
        stop.store(true, Ordering::SeqCst);
        (seen, turn)
    };
    let (written, (mut seen, mut turn)) = tokio::join!(write(&world, &stage, &stop), reading);
    let log: Vec<Value> = world.events(&stage.run).await;
    assert!(log.len() > written && written > RELOADS, "{written} written");
    follow(&world, &stage, &mut seen, log.len(), &mut turn).await;
    assert!(turn >= RELOADS);
    assert_eq!(data(&seen), log);
}
