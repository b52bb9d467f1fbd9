use std::time::Instant;

use guildhall_runner::backend::{BackendEvent, Control, Refusal, TurnEnd};
use tokio::sync::oneshot;

use super::{Bench, Desk, Model};

/// The first sign that a turn is under way.
fn is_text(event: &BackendEvent) -> bool {
    matches!(event, BackendEvent::TextDelta { .. })
}

pub(crate) async fn words_put_into_a_turn_are_taken_or_refused(bench: &Bench) {
    let mut desk = Desk::ready(bench).await;
    let (taken, answer) = oneshot::channel();
    let report = desk
        .turn_while("slow", async |control, seen| {
            seen.until(is_text).await;
            let steer = Control::Steer { words: "rather tell me of whales".to_owned(), taken };
            control.send(steer).await.expect("the turn runs");
        })
        .await;
    assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    if bench.capabilities.steers {
        assert_eq!(answer.await, Ok(Ok(())));
        let is_told = desk.told().iter().any(|body| body.contains("rather tell me of whales"));
        assert!(is_told, "proof of delivery");
    } else {
        assert_eq!(answer.await, Ok(Err(Refusal::Unable)));
    }
    desk.leave();
}

pub(crate) async fn words_after_the_end_are_refused(bench: &Bench) {
    let mut desk = Desk::ready(bench).await;
    let (taken, answer) = oneshot::channel();
    let (sender, mut control) = tokio::sync::mpsc::channel(8);
    let (sink, mut events) = guildhall_runner::backend::Sink::new();
    let words = (bench.words)("hello", Model::Answers);
    let backend = desk.backend.as_mut().expect("it has begun");
    // The wish is sent when all was said, and before the runner knows of the end.
    let watching = async {
        while let Some(event) = events.recv().await {
            if matches!(&event, BackendEvent::Text { .. }) {
                break;
            }
        }
        let _the_turn_may_be_over =
            sender.send(Control::Steer { words: "said-after-the-end".to_owned(), taken }).await;
        while events.recv().await.is_some() {}
    };
    let end = tokio::select! {
        end = backend.turn(&words, &sink, &mut control) => end,
        () = watching => panic!("the sink is open"),
    };
    assert_eq!(end, TurnEnd::Completed);
    drop(control);
    // Taken in time, refused, or dropped with the turn. That an agent took them is its own word: Codex may still end the turn
    // without asking its model again, so what came of them is told by the events behind them, and by nothing else.
    let answer = answer.await;
    let was_told = desk.told().iter().any(|body| body.contains("said-after-the-end"));
    match answer {
        Ok(Ok(())) => assert!(bench.capabilities.steers),
        Ok(Err(_)) | Err(_) => assert!(!was_told, "refused words were delivered"),
    }
    desk.leave();
}

pub(crate) async fn an_interrupt_ends_the_turn_and_the_thread_goes_on(bench: &Bench) {
    let mut desk = Desk::ready(bench).await;
    let mut asked = Instant::now();
    let report = desk
        .turn_while("slow", async |control, seen| {
            seen.until(is_text).await;
            asked = Instant::now();
            control.send(Control::Interrupt).await.expect("the turn runs");
        })
        .await;
    if bench.capabilities.interrupts {
        assert_eq!(report.end, TurnEnd::Interrupted, "{report:?}");
        assert!(asked.elapsed().as_secs() < 8, "{:?}", asked.elapsed());
        let next = desk.turn("hello again").await;
        assert_eq!(next.end, TurnEnd::Completed, "{next:?}");
        assert_eq!(next.streamed(), "Echo: hello again");
    } else {
        assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    }
    desk.leave();
}

pub(crate) async fn an_interrupt_ends_a_running_tool(bench: &Bench) {
    if !bench.capabilities.interrupts {
        return;
    }
    let mut desk = Desk::ready(bench).await;
    let report = desk
        .turn_while("run:echo begun; sleep 12; echo late > made", async |control, seen| {
            seen.until(|event| matches!(event, BackendEvent::ToolBegan { .. })).await;
            control.send(Control::Interrupt).await.expect("the turn runs");
        })
        .await;
    assert_eq!(report.end, TurnEnd::Interrupted, "{report:?}");
    assert!(!desk.path("made").exists());
    desk.leave();
}
