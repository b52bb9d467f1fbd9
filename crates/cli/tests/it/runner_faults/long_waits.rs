//! Runners that wait long for their run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use guildhall_testkit::Stopwatch;

use super::fixture::{RunnerFixture, phase_payloads};
use crate::support::proxy::{self, ProxyAction};

const LEASE_SETTING: &str = "6s";

/// Longer than the lease, shorter than the poll of a runner.
const WAIT: Duration = Duration::from_secs(8);

/// The lease is counted from the claim, not from the request that waited for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runner_that_waited_longer_than_its_lease_keeps_its_run() {
    let fixture = RunnerFixture::start_with("127.0.0.1", LEASE_SETTING).await;
    let (is_waiting, run) = (Arc::new(AtomicBool::new(false)), fixture.create_run().await);
    let seen = Arc::clone(&is_waiting);
    let proxy_url = proxy::start(&fixture.cluster.url(0, ""), move |request| {
        seen.fetch_or(request.line.contains("/runners/claim "), Ordering::SeqCst);
        ProxyAction::Forward
    });
    let runner = fixture.start_warm_runner_at(&proxy_url, &["--one-shot"]);
    let started = Stopwatch::start();
    while !is_waiting.load(Ordering::SeqCst) {
        assert!(started.elapsed() < Duration::from_secs(60), "no claim: {}", runner.log_text());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(WAIT).await;
    fixture.complete_turn(&run, "hello").await;
    let events = fixture.events(&run).await;
    assert_eq!(phase_payloads(&events, "run-claimed").len(), 1, "{}: {events:#?}", runner.log_text());
}
