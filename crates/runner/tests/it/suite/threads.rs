use std::fs;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::{Network, Sandbox};
use guildhall_runner::backend::{BackendEvent, SteerError, ThreadStart, TurnControl, TurnOutcome};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::oneshot;

use super::{BackendFixture, Harness};

fn kill(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).expect("process id");
    kill_process(pid, Signal::KILL).expect("it runs");
}

pub(crate) async fn killed_agent_is_dead_and_its_thread_is_resumed(fixture: &BackendFixture) {
    let mut harness = Harness::new(fixture).await;
    let thread = harness.start(ThreadStart::New).await.expect("start a thread");
    assert_eq!(harness.turn("the colour is teal").await.outcome, TurnOutcome::Completed);
    kill_during_turn(&mut harness, fixture).await;
    if fixture.capabilities.can_resume {
        assert_eq!(harness.start(ThreadStart::Resume(thread.clone())).await, Ok(thread));
        let next = harness.turn("go on").await;
        assert_eq!(next.streamed_text(), "Echo: go on", "{next:?}");
        assert!(harness.received().last().expect("a request").contains("teal"), "it has the context");
        let made = fs::read_to_string(harness.path("made")).unwrap_or_default();
        assert!(made.lines().count() <= 1, "the side effect happened again: {made}");
    }
    harness.finish();
}

/// Kills the agent during a turn, or drops a backend that has no process of its own.
async fn kill_during_turn(harness: &mut Harness<'_>, fixture: &BackendFixture) {
    let (prompt, is_started) = ("run:echo once >> made; sleep 30", |event: &BackendEvent| {
        matches!(event, BackendEvent::ToolStarted { .. })
    });
    if !fixture.capabilities.is_separate_process {
        assert_eq!(harness.process_id(), None);
        return harness.abandon_turn(prompt, is_started).await;
    }
    let process = harness.process_id().expect("a process");
    let report = harness
        .turn_while(prompt, async |_, events| {
            events.wait_for(is_started).await;
            kill(process);
        })
        .await;
    let failure = report.failure();
    assert_eq!((failure.kind, failure.died), (FailureKind::BackendFailed, true), "{failure:?}");
    let (reply, response) = oneshot::channel();
    let steer = TurnControl::Steer { text: "hear me".to_owned(), reply };
    let again = harness.turn_after(steer, "are you there").await;
    assert!(again.failure().died, "a dead agent runs no turn: {again:?}");
    assert_eq!(response.await, Ok(Err(SteerError::NoActiveTurn)));
}

pub(crate) async fn new_process_resumes_a_thread(fixture: &BackendFixture) {
    let mut harness = Harness::new(fixture).await;
    let thread = harness.start(ThreadStart::New).await.expect("start a thread");
    assert_eq!(harness.turn("the colour is teal").await.outcome, TurnOutcome::Completed);
    let backend = harness.backend.take().expect("the backend is started");
    tokio::time::timeout(Duration::from_secs(8), backend.shutdown()).await.expect("it exits in time");
    let resumed = harness.start(ThreadStart::Resume(thread.clone())).await;
    if !fixture.capabilities.can_resume {
        assert_eq!(resumed.map_err(|failure| failure.kind), Err(FailureKind::ThreadResumeFailed));
        return harness.finish();
    }
    assert_eq!(resumed, Ok(thread));
    let report = harness.turn("which colour").await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    assert!(harness.received().last().expect("a request").contains("teal"));
    let output_tokens: u64 = report
        .events
        .iter()
        .map(|event| if let BackendEvent::Usage(usage) = event { usage.output_tokens } else { 0 })
        .sum();
    // One answer of the fake model: earlier usage of the thread is not reported again.
    assert_eq!(output_tokens, 7, "{report:?}");
    harness.finish();
}

pub(crate) async fn lost_thread_is_a_failure_and_not_replaced(fixture: &BackendFixture) {
    let mut harness = Harness::new(fixture).await;
    let thread = harness.start(ThreadStart::New).await.expect("start a thread");
    assert_eq!(harness.turn("the colour is teal").await.outcome, TurnOutcome::Completed);
    drop(harness.backend.take());
    fs::remove_dir_all(&harness.config.state).expect("remove the state");
    let failure = harness.start(ThreadStart::Resume(thread)).await.expect_err("nothing is left to resume");
    assert_eq!(failure.kind, FailureKind::ThreadResumeFailed, "{failure:?}");
    let report = harness.turn("hello").await;
    assert!(report.failure().died, "no turn without a thread: {report:?}");
    harness.finish();
}

pub(crate) async fn processes_of_an_agent_end_with_it(fixture: &BackendFixture) {
    let mut harness = Harness::new(fixture).await;
    harness.config.sandbox = Sandbox::DangerFullAccess;
    harness.config.network = Network::Enabled;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let daemon =
        "run:(setsid sh -c 'echo $$ > daemon; exec sleep 300' >/dev/null 2>&1 &); sleep 0.5; cat daemon";
    let report = harness.turn(daemon).await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    assert!(harness.path("daemon").exists(), "it ran");
    // Without a process of its own, a backend starts one sandbox for each command.
    let outlives_its_command = fixture.capabilities.is_separate_process;
    assert_eq!(harness.has_process_in_workspace("sleep"), outlives_its_command);
    harness.finish();
}
