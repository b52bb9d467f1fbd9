//! A server that is away for a moment, or does not take what it is sent.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use guildhall_domain::FailureKind;
use rustix::process::Signal;

use super::proxy::{self, Fate};
use super::world::{World, phases};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_was_seen_is_taken_when_the_server_is_back() {
    let world = World::start().await;
    let run = world.run().await;
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let door = proxy::open(&world.fleet.url(0, ""), move |request| {
        if !request.line.contains("/ack ") {
            return Fate::Pass;
        }
        match counted.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Fate::Drop,
            2 => Fate::Refuse(FailureKind::Overloaded),
            _ => Fate::Pass,
        }
    });
    let _runner = world.runner_at(&door, &run, &[]);
    world.works(&run, "run:echo once >> traces").await;
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    assert_eq!(fs::read_to_string(run.workspace.join("traces")).expect("traces"), "once\n");
}

/// As behind one address, when a server that has just died, or just begun, takes a request and does not answer it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_that_nobody_answers_is_asked_again_before_the_lease_is_lost() {
    let world = World::start().await;
    let run = world.run().await;
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let door = proxy::open(&world.fleet.url(0, ""), move |request| {
        let renews = request.line.starts_with("PATCH") && request.line.contains("/lease ");
        let hangs = renews && counted.fetch_add(1, Ordering::SeqCst) == 0;
        if hangs { Fate::Hang } else { Fate::Pass }
    });
    let _runner = world.runner_at(&door, &run, &[]);
    world.works(&run, "run:sleep 9").await;
    assert!(asked.load(Ordering::SeqCst) > 2, "the lease was renewed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_is_refused_for_good_takes_no_other_with_it_and_the_turn_goes_on() {
    let world = World::start().await;
    let run = world.run().await;
    let door = proxy::open(&world.fleet.url(0, ""), |request| {
        let body = String::from_utf8_lossy(&request.body);
        let is_bad = request.line.contains("/events ") && body.contains("\"status\":\"started\"");
        if is_bad { Fate::Refuse(FailureKind::SchemaInvalid) } else { Fate::Pass }
    });
    let mut runner = world.runner_at(&door, &run, &[]);
    let result = world.works(&run, "run:echo hello").await;
    assert_eq!(result["reply"], "It ended with 0.", "{result}");
    // More is sent and confirmed after it: that must not take what was set aside.
    world.works(&run, "hello").await;
    runner.running.signal(Signal::TERM);
    assert!(runner.running.wait().success(), "{}", runner.said());
    let events = world.events(&run).await;
    let tools: Vec<_> = events.iter().filter(|event| event["type"] == "tool_call").collect();
    assert!(
        tools.len() >= 3 && tools.iter().all(|tool| tool["payload"]["status"] == "completed"),
        "{tools:#?}"
    );
    let file = format!("{}-1-refused.jsonl", run.id);
    let refused = phases(&events, "events-refused");
    assert!(refused.iter().all(|said| said["file"] == *file && said["events"] == 1), "{refused:#?}");
    let kept = fs::read_to_string(world.state().join("spool").join(&file)).expect("kept");
    assert_eq!((kept.lines().count(), refused.len()), (3, 3), "{kept}");
    assert!(kept.lines().all(|line| line.contains("\"status\":\"started\"")), "{kept}");
}
