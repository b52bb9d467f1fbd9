use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_runner::backend::{Begin, TurnEnd};

use super::desk::CREDENTIAL_VALUE;
use super::{Bench, Desk};

/// Works through a turn that fails, and checks that nothing is told that must not be.
async fn failed_turn(bench: &Bench, words: &str) -> FailureKind {
    let mut desk = Desk::ready(bench).await;
    let report = desk.turn(words).await;
    let failure = report.failure().clone();
    assert!(!failure.died, "{failure:?}");
    let told = format!("{report:?}");
    let address = desk.model.base_url();
    assert!(!told.contains(CREDENTIAL_VALUE) && !failure.message.contains(&address), "{told}");
    let host = address.trim_start_matches("http://").trim_end_matches("/v1");
    assert!(!failure.message.contains(host), "{failure:?}");
    let next = desk.turn("are you there").await;
    assert_eq!(next.end, TurnEnd::Completed, "a failed turn does not end the thread: {next:?}");
    desk.leave();
    failure.kind
}

pub(crate) async fn a_refused_credential_is_told_without_an_address(bench: &Bench) {
    assert_eq!(failed_turn(bench, "r401").await, FailureKind::ProviderAuthFailed);
}

pub(crate) async fn a_provider_that_asks_to_wait_is_unavailable(bench: &Bench) {
    assert_eq!(failed_turn(bench, "r429").await, FailureKind::ProviderUnavailable);
}

pub(crate) async fn a_provider_that_fails_is_unavailable(bench: &Bench) {
    assert_eq!(failed_turn(bench, "boom").await, FailureKind::ProviderUnavailable);
}

pub(crate) async fn an_answer_that_breaks_off_is_no_answer(bench: &Bench) {
    assert_eq!(failed_turn(bench, "cut").await, FailureKind::ProviderUnavailable);
}

pub(crate) async fn a_provider_that_is_away_is_unavailable(bench: &Bench) {
    let mut desk = Desk::set(bench).await;
    // An agent may try again for longer than a turn lasts.
    desk.setting.turn_timeout = Duration::from_secs(6);
    desk.begin(Begin::New).await.expect("a new thread");
    desk.lose_model().await;
    let report = desk.turn("hello").await;
    assert_eq!(report.failure().kind, FailureKind::ProviderUnavailable, "{report:?}");
    desk.leave();
}
