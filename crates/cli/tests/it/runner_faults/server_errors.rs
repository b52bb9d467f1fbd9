//! A server that is briefly unreachable or rejects requests.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use guildhall_domain::FailureKind;
use rustix::process::Signal;

use super::fixture::{RunnerFixture, phase_payloads};
use crate::support::proxy::{self, ProxyAction};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_command_ack_is_retried_until_the_server_responds() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run().await;
    let attempts = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&attempts);
    let proxy_url = proxy::start(&fixture.cluster.url(0, ""), move |request| {
        if !request.line.contains("/ack ") {
            return ProxyAction::Forward;
        }
        match counter.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => ProxyAction::Drop,
            2 => ProxyAction::Fail(FailureKind::Overloaded),
            _ => ProxyAction::Forward,
        }
    });
    let _runner = fixture.start_runner_at(&proxy_url, &run, &[]);
    fixture.complete_turn(&run, "run:echo once >> traces").await;
    assert_eq!(attempts.load(Ordering::SeqCst), 4);
    assert_eq!(fs::read_to_string(run.workspace.join("traces")).expect("traces"), "once\n");
}

/// As behind a load balancer, when a server that has just died or just started accepts a request without responding.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unanswered_lease_renewal_is_retried_before_expiry() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run().await;
    let attempts = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&attempts);
    let proxy_url = proxy::start(&fixture.cluster.url(0, ""), move |request| {
        let is_renewal = request.line.starts_with("PATCH") && request.line.contains("/lease ");
        let should_hang = is_renewal && counter.fetch_add(1, Ordering::SeqCst) == 0;
        if should_hang { ProxyAction::Hang } else { ProxyAction::Forward }
    });
    let _runner = fixture.start_runner_at(&proxy_url, &run, &[]);
    fixture.complete_turn(&run, "run:sleep 15").await;
    assert!(attempts.load(Ordering::SeqCst) > 2, "the lease was renewed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permanently_rejected_event_is_spooled_and_turn_continues() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run().await;
    let proxy_url = proxy::start(&fixture.cluster.url(0, ""), |request| {
        let body = String::from_utf8_lossy(&request.body);
        let is_start_event = request.line.contains("/events ") && body.contains("\"status\":\"started\"");
        if is_start_event { ProxyAction::Fail(FailureKind::SchemaInvalid) } else { ProxyAction::Forward }
    });
    let mut runner = fixture.start_runner_at(&proxy_url, &run, &[]);
    let result = fixture.complete_turn(&run, "run:echo hello").await;
    assert_eq!(result["reply"], "It ended with 0.", "{result}");
    // Later confirmed events must not delete the rejected events from disk.
    fixture.complete_turn(&run, "hello").await;
    runner.process.signal(Signal::TERM);
    assert!(runner.process.wait().success(), "{}", runner.log_text());
    let events = fixture.events(&run).await;
    let tools: Vec<_> = events.iter().filter(|event| event["type"] == "tool_call").collect();
    assert!(
        tools.len() >= 3 && tools.iter().all(|tool| tool["payload"]["status"] == "completed"),
        "{tools:#?}"
    );
    let file = format!("{}-1-refused.jsonl", run.id);
    let reports = phase_payloads(&events, "events-refused");
    assert!(reports.iter().all(|report| report["file"] == *file && report["events"] == 1), "{reports:#?}");
    let stored = fs::read_to_string(fixture.state_folder().join("spool").join(&file)).expect("a file");
    assert_eq!((stored.lines().count(), reports.len()), (3, 3), "{stored}");
    assert!(stored.lines().all(|line| line.contains("\"status\":\"started\"")), "{stored}");
}
