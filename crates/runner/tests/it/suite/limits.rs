use std::time::{Duration, Instant};

use guildhall_domain::FailureKind;
use guildhall_runner::backend::{BackendEvent, Begin, TurnEnd};
use guildhall_testkit::BIG_OUTPUT_BYTES;

use super::{Bench, Desk};

pub(crate) async fn an_endless_tool_loop_is_cut_off(bench: &Bench) {
    let mut desk = Desk::set(bench).await;
    desk.setting.tool_calls_at_most = 5;
    desk.begin(Begin::New).await.expect("a new thread");
    let report = desk.turn("loop:true").await;
    let failure = report.failure();
    assert_eq!((failure.kind, failure.died), (FailureKind::BackendFailed, false), "{failure:?}");
    assert!(failure.message.contains("more than 5 tool calls"), "{failure:?}");
    let calls = report.count(|event| matches!(event, BackendEvent::ToolBegan { .. }));
    assert!((5..=8).contains(&calls), "{calls}");
    let next = desk.turn("hello").await;
    assert_eq!(next.end, TurnEnd::Completed, "{next:?}");
    desk.leave();
}

pub(crate) async fn a_turn_that_takes_too_long_is_interrupted(bench: &Bench) {
    let mut desk = Desk::set(bench).await;
    // Long enough for an agent that takes its time to say the first word, shorter than all that it has to say.
    desk.setting.turn_timeout = Duration::from_secs(7);
    desk.begin(Begin::New).await.expect("a new thread");
    let begun = Instant::now();
    let report = desk.turn("slow").await;
    assert_eq!(report.failure().kind, FailureKind::BackendFailed, "{report:?}");
    assert!(report.failure().message.contains("longer than 7 s"), "{report:?}");
    assert!(begun.elapsed().as_secs() < 14, "{:?}", begun.elapsed());
    desk.leave();
}

pub(crate) async fn ten_megabytes_of_output_are_bounded_and_marked(bench: &Bench) {
    let mut desk = Desk::ready(bench).await;
    let report = desk.turn("big:").await;
    assert_eq!(report.end, TurnEnd::Completed, "{:?}", report.end);
    let (printed, truncated) = report.printed();
    assert!(truncated, "{} bytes, said to be all of it", printed.len());
    let told: usize = report.events.iter().map(|event| format!("{event:?}").len()).sum();
    assert!(told < BIG_OUTPUT_BYTES / 10, "{told}");
    assert!(printed.len() > 10_000, "something of it is told: {printed}");
    desk.leave();
}
