use guildhall_runner::backend::{BackendEvent, EventSink, SteerError, TurnControl, TurnOutcome};
use guildhall_testkit::Stopwatch;
use tokio::sync::oneshot;

use super::{BackendFixture, Harness, ModelState};

/// The first text shows that the turn runs.
fn is_text(event: &BackendEvent) -> bool {
    matches!(event, BackendEvent::TextDelta { .. })
}

pub(crate) async fn steer_is_accepted_or_rejected(fixture: &BackendFixture) {
    let mut harness = Harness::started(fixture).await;
    let (reply, response) = oneshot::channel();
    let report = harness
        .turn_while("slow", async |controls, events| {
            events.wait_for(is_text).await;
            let steer = TurnControl::Steer { text: "rather tell me of whales".to_owned(), reply };
            controls.send(steer).await.expect("send control");
        })
        .await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    let is_received = harness.received().iter().any(|body| body.contains("rather tell me of whales"));
    if fixture.capabilities.can_steer {
        assert_eq!(response.await, Ok(Ok(())));
        assert!(is_received, "an accepted steer reaches the model");
    } else {
        assert_eq!(response.await, Ok(Err(SteerError::Unsupported)));
        assert!(!is_received, "a rejected steer reached the model");
    }
    harness.finish();
}

pub(crate) async fn steer_after_the_end_is_rejected(fixture: &BackendFixture) {
    let mut harness = Harness::started(fixture).await;
    let (reply, response) = oneshot::channel();
    let (controls, mut control) = tokio::sync::mpsc::channel(8);
    let (sink, mut events) = EventSink::new();
    let prompt = (fixture.prompt)("hello", ModelState::Online).as_str().into();
    let backend = harness.backend.as_mut().expect("the backend is started");
    // The steer is sent after the answer, and before the runner knows that the turn has ended.
    let watching = async {
        while let Some(event) = events.recv().await {
            if matches!(&event, BackendEvent::Text { .. }) {
                break;
            }
        }
        let steer = TurnControl::Steer { text: "said-after-the-end".to_owned(), reply };
        let _turn_may_be_over = controls.send(steer).await;
        while events.recv().await.is_some() {}
    };
    let outcome = tokio::select! {
        outcome = backend.run_turn(&prompt, &sink, &mut control) => outcome,
        () = watching => panic!("the sink is open"),
    };
    assert_eq!(outcome, TurnOutcome::Completed);
    drop(control);
    // Accepted in time, rejected, or dropped with the turn. Codex may accept a steer and still end the turn without
    // another model request, so only a rejected steer is checked against the requests.
    let response = response.await;
    let is_received = harness.received().iter().any(|body| body.contains("said-after-the-end"));
    match response {
        Ok(Ok(())) => assert!(fixture.capabilities.can_steer),
        Ok(Err(_)) | Err(_) => assert!(!is_received, "a rejected steer reached the model"),
    }
    harness.finish();
}

pub(crate) async fn interrupt_ends_the_turn_and_the_thread_continues(fixture: &BackendFixture) {
    let mut harness = Harness::started(fixture).await;
    let mut interrupted_at = Stopwatch::start();
    let report = harness
        .turn_while("slow", async |controls, events| {
            events.wait_for(is_text).await;
            interrupted_at = Stopwatch::start();
            controls.send(TurnControl::Interrupt).await.expect("send control");
        })
        .await;
    if fixture.capabilities.can_interrupt {
        assert_eq!(report.outcome, TurnOutcome::Interrupted, "{report:?}");
        assert!(interrupted_at.elapsed().as_secs() < 8, "{:?}", interrupted_at.elapsed());
        let next = harness.turn("hello again").await;
        assert_eq!(next.outcome, TurnOutcome::Completed, "{next:?}");
        assert_eq!(next.streamed_text(), "Echo: hello again");
    } else {
        assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    }
    harness.finish();
}

pub(crate) async fn interrupt_ends_a_running_tool(fixture: &BackendFixture) {
    if !fixture.capabilities.can_interrupt {
        return;
    }
    let mut harness = Harness::started(fixture).await;
    let report = harness
        .turn_while("run:echo begun; sleep 12; echo late > made", async |controls, events| {
            events.wait_for(|event| matches!(event, BackendEvent::ToolStarted { .. })).await;
            controls.send(TurnControl::Interrupt).await.expect("send control");
        })
        .await;
    assert_eq!(report.outcome, TurnOutcome::Interrupted, "{report:?}");
    assert!(!harness.path("made").exists());
    harness.finish();
}
