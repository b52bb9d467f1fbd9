use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_runner::backend::{ThreadStart, TurnOutcome};

use super::harness::CREDENTIAL_VALUE;
use super::{BackendFixture, Harness};

/// Runs a turn that fails. Checks that its report leaks nothing and that the next turn works.
async fn run_failing_turn(fixture: &BackendFixture, prompt: &str) -> FailureKind {
    let mut harness = Harness::new(fixture).await;
    // An agent may retry for longer than a turn lasts.
    harness.config.turn_timeout = Duration::from_secs(20);
    harness.start(ThreadStart::New).await.expect("start a thread");
    let report = harness.turn(prompt).await;
    let failure = report.failure().clone();
    assert!(!failure.died, "{failure:?}");
    let printed = format!("{report:?}");
    let address = harness.model.base_url();
    assert!(!printed.contains(CREDENTIAL_VALUE) && !failure.message.contains(&address), "{printed}");
    let host = address.trim_start_matches("http://").trim_end_matches("/v1");
    assert!(!failure.message.contains(host), "{failure:?}");
    let next = harness.turn("are you there").await;
    assert_eq!(next.outcome, TurnOutcome::Completed, "a failed turn does not end the thread: {next:?}");
    harness.finish();
    failure.kind
}

pub(crate) async fn rejected_credential_is_reported_without_an_address(fixture: &BackendFixture) {
    assert_eq!(run_failing_turn(fixture, "r401").await, FailureKind::ProviderAuthFailed);
}

pub(crate) async fn rate_limited_provider_is_unavailable(fixture: &BackendFixture) {
    assert_eq!(run_failing_turn(fixture, "r429").await, FailureKind::ProviderUnavailable);
}

pub(crate) async fn failing_provider_is_unavailable(fixture: &BackendFixture) {
    assert_eq!(run_failing_turn(fixture, "boom").await, FailureKind::ProviderUnavailable);
}

pub(crate) async fn incomplete_response_is_a_failure(fixture: &BackendFixture) {
    assert_eq!(run_failing_turn(fixture, "cut").await, FailureKind::ProviderUnavailable);
}

pub(crate) async fn unreachable_provider_is_unavailable(fixture: &BackendFixture) {
    let mut harness = Harness::new(fixture).await;
    // An agent may retry for longer than a turn lasts.
    harness.config.turn_timeout = Duration::from_secs(6);
    harness.start(ThreadStart::New).await.expect("start a thread");
    harness.stop_model().await;
    let report = harness.turn("hello").await;
    assert_eq!(report.failure().kind, FailureKind::ProviderUnavailable, "{report:?}");
    harness.finish();
}
