use guildhall_domain::runs::policy::Approval;
use guildhall_runner::backend::{BackendEvent, Begin, TurnEnd};

use super::{Bench, Desk};

pub(crate) async fn a_text_turn_streams_its_answer(bench: &Bench) {
    let mut desk = Desk::ready(bench).await;
    let report = desk.turn("tidy my notes").await;
    assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    assert_eq!(report.streamed(), "Echo: tidy my notes");
    assert_eq!(report.said(), ["Echo: tidy my notes"]);
    assert!(report.count(|event| matches!(event, BackendEvent::TextDelta { .. })) > 1, "{report:?}");
    assert!(report.count(|event| matches!(event, BackendEvent::Usage(usage) if usage.output_tokens > 0)) > 0);
    desk.leave();
}

pub(crate) async fn a_long_turn_is_watched_while_it_runs(bench: &Bench) {
    let mut desk = Desk::ready(bench).await;
    let (begun, mut early) = (std::time::Instant::now(), None);
    let report = desk
        .turn_while("slow", async |_, seen| {
            seen.until(|event| matches!(event, BackendEvent::TextDelta { .. })).await;
            early = Some(begun.elapsed());
        })
        .await;
    assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    let words = report.streamed();
    assert!(words.starts_with("tok0 tok1 ") && words.ends_with("tok39 "), "{words}");
    // The model takes ten seconds from its first word to its last.
    let after_the_first = early.map(|early| begun.elapsed().saturating_sub(early));
    assert!(after_the_first.is_some_and(|time| time.as_secs() > 5), "{early:?} {after_the_first:?}");
    desk.leave();
}

pub(crate) async fn a_tool_call_is_reported_with_what_it_printed(bench: &Bench) {
    let mut desk = Desk::ready(bench).await;
    let report = desk.turn("run:echo first; sleep 0.3; echo second; echo done > made; exit 3").await;
    assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    assert_eq!(report.count(|event| matches!(event, BackendEvent::ToolBegan { .. })), 1);
    let (printed, truncated) = report.printed();
    assert!(printed.contains("first\nsecond") && !truncated, "{truncated} {printed:?}");
    let tools = report.tools();
    assert!(matches!(&tools[..], [(_, Some(3) | None)]), "{tools:?}");
    assert_eq!(std::fs::read_to_string(desk.path("made")).ok().as_deref(), Some("done\n"));
    desk.leave();
}

pub(crate) async fn a_second_turn_knows_the_first(bench: &Bench) {
    let mut desk = Desk::ready(bench).await;
    assert_eq!(desk.turn("the colour is teal").await.end, TurnEnd::Completed);
    assert_eq!(desk.turn("and the shape is round").await.end, TurnEnd::Completed);
    let told = desk.told();
    let last = told.last().expect("a request");
    assert!(last.contains("teal") && last.contains("round"), "{last}");
    desk.leave();
}

pub(crate) async fn a_declined_approval_is_reported_and_nothing_is_done(bench: &Bench) {
    let mut desk = Desk::set(bench).await;
    desk.setting.approval = Approval::OnRequest;
    desk.begin(Begin::New).await.expect("a new thread");
    let report = desk.turn("ask:touch made").await;
    let declined = report.count(|event| matches!(event, BackendEvent::Declined { .. }));
    assert_eq!(declined > 0, bench.capabilities.asks, "{report:?}");
    if bench.capabilities.asks {
        assert!(!desk.path("made").exists(), "it was declined");
        assert_eq!(report.end, TurnEnd::Completed, "a no is an answer: {report:?}");
    }
    desk.leave();
}
