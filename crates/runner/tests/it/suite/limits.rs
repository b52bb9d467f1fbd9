use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_runner::backend::{BackendEvent, ThreadStart, TurnOutcome};
use guildhall_testkit::{BIG_OUTPUT_BYTES, Stopwatch};

use super::{BackendFixture, Harness};

pub(crate) async fn endless_tool_loop_is_stopped(fixture: &BackendFixture) {
    let mut harness = Harness::new(fixture).await;
    harness.config.max_tool_calls = 5;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let report = harness.turn("loop:true").await;
    let failure = report.failure();
    assert_eq!((failure.kind, failure.died), (FailureKind::BackendFailed, false), "{failure:?}");
    assert!(failure.message.contains("more than 5 tool calls"), "{failure:?}");
    let calls = report.count(|event| matches!(event, BackendEvent::ToolStarted { .. }));
    assert!((5..=8).contains(&calls), "{calls}");
    let next = harness.turn("hello").await;
    assert_eq!(next.outcome, TurnOutcome::Completed, "{next:?}");
    harness.finish();
}

pub(crate) async fn turn_over_the_timeout_is_interrupted(fixture: &BackendFixture) {
    let mut harness = Harness::new(fixture).await;
    // Long enough for the first word of a slow agent, shorter than its whole answer.
    harness.config.turn_timeout = Duration::from_secs(7);
    harness.start(ThreadStart::New).await.expect("start a thread");
    let started = Stopwatch::start();
    let report = harness.turn("slow").await;
    assert_eq!(report.failure().kind, FailureKind::BackendFailed, "{report:?}");
    assert!(report.failure().message.contains("longer than 7 s"), "{report:?}");
    assert!(started.elapsed().as_secs() < 14, "{:?}", started.elapsed());
    harness.finish();
}

pub(crate) async fn large_output_is_truncated_and_marked(fixture: &BackendFixture) {
    let mut harness = Harness::new(fixture).await;
    harness.config.turn_timeout = Duration::from_secs(120);
    harness.start(ThreadStart::New).await.expect("start a thread");
    let report = harness.turn("big:").await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.outcome);
    let (output, truncated) = report.tool_output();
    assert!(truncated, "{} bytes, not marked as truncated", output.len());
    let reported: usize = report.events.iter().map(|event| format!("{event:?}").len()).sum();
    assert!(reported < BIG_OUTPUT_BYTES / 10, "{reported}");
    assert!(output.len() > 10_000, "a part of it is reported: {output}");
    harness.finish();
}
