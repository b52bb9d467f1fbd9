use std::fs;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::{Network, Sandbox};
use guildhall_runner::backend::{BackendEvent, Begin, Control, Refusal, TurnEnd};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::oneshot;

use super::{Bench, Desk};

fn kill(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, Signal::KILL).expect("it runs");
}

pub(crate) async fn an_agent_killed_in_a_turn_is_dead_and_resumed_by_another(bench: &Bench) {
    let mut desk = Desk::set(bench).await;
    let thread = desk.begin(Begin::New).await.expect("a new thread");
    assert_eq!(desk.turn("the colour is teal").await.end, TurnEnd::Completed);
    die_in_a_turn(&mut desk, bench).await;
    if bench.capabilities.resumes {
        assert_eq!(desk.begin(Begin::Resume(thread.clone())).await, Ok(thread));
        let next = desk.turn("go on").await;
        assert_eq!(next.streamed(), "Echo: go on", "{next:?}");
        assert!(desk.told().last().expect("a request").contains("teal"), "it remembers");
        let made = fs::read_to_string(desk.path("made")).unwrap_or_default();
        assert!(made.lines().count() <= 1, "the side effect happened again: {made}");
    }
    desk.leave();
}

/// Lets the agent die while it works, or lets go of one that can only die with the runner.
async fn die_in_a_turn(desk: &mut Desk<'_>, bench: &Bench) {
    let (words, is_begun) = ("run:echo once >> made; sleep 30", |event: &BackendEvent| {
        matches!(event, BackendEvent::ToolBegan { .. })
    });
    if !bench.capabilities.lives_apart {
        assert_eq!(desk.backend.as_ref().and_then(|backend| backend.process()), None);
        return desk.abandon(words, is_begun).await;
    }
    let process = desk.process();
    let report = desk
        .turn_while(words, async |_, seen| {
            seen.until(is_begun).await;
            kill(process);
        })
        .await;
    let failure = report.failure();
    assert_eq!((failure.kind, failure.died), (FailureKind::BackendFailed, true), "{failure:?}");
    let (taken, answer) = oneshot::channel();
    let again = desk.turn_after(Control::Steer { words: "hear me".to_owned(), taken }, "are you there").await;
    assert!(again.failure().died, "the dead do no work: {again:?}");
    assert_eq!(answer.await, Ok(Err(Refusal::NoTurn)));
}

pub(crate) async fn a_thread_is_resumed_by_a_new_process(bench: &Bench) {
    let mut desk = Desk::set(bench).await;
    let thread = desk.begin(Begin::New).await.expect("a new thread");
    assert_eq!(desk.turn("the colour is teal").await.end, TurnEnd::Completed);
    let backend = desk.backend.take().expect("it has begun");
    tokio::time::timeout(Duration::from_secs(8), backend.finish()).await.expect("it ends in time");
    let begun = desk.begin(Begin::Resume(thread.clone())).await;
    if !bench.capabilities.resumes {
        assert_eq!(begun.map_err(|failure| failure.kind), Err(FailureKind::ThreadResumeFailed));
        return desk.leave();
    }
    assert_eq!(begun, Ok(thread));
    let report = desk.turn("which colour").await;
    assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    assert!(desk.told().last().expect("a request").contains("teal"));
    let spent: u64 = report
        .events
        .iter()
        .map(|event| if let BackendEvent::Usage(usage) = event { usage.output_tokens } else { 0 })
        .sum();
    // One answer of the fake model: what the thread cost before is not reported again.
    assert_eq!(spent, 7, "{report:?}");
    desk.leave();
}

pub(crate) async fn a_lost_thread_is_a_failure_and_never_a_new_one(bench: &Bench) {
    let mut desk = Desk::set(bench).await;
    let thread = desk.begin(Begin::New).await.expect("a new thread");
    assert_eq!(desk.turn("the colour is teal").await.end, TurnEnd::Completed);
    drop(desk.backend.take());
    fs::remove_dir_all(&desk.setting.state).expect("it had a state");
    let failure = desk.begin(Begin::Resume(thread)).await.expect_err("nothing is left to resume");
    assert_eq!(failure.kind, FailureKind::ThreadResumeFailed, "{failure:?}");
    let report = desk.turn("hello").await;
    assert!(report.failure().died, "no thread, no turn: {report:?}");
    desk.leave();
}

pub(crate) async fn what_an_agent_started_ends_with_it(bench: &Bench) {
    let mut desk = Desk::set(bench).await;
    desk.setting.sandbox = Sandbox::DangerFullAccess;
    desk.setting.network = Network::Enabled;
    desk.begin(Begin::New).await.expect("a new thread");
    let daemon =
        "run:(setsid sh -c 'echo $$ > daemon; exec sleep 300' >/dev/null 2>&1 &); sleep 0.5; cat daemon";
    let report = desk.turn(daemon).await;
    assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    let daemon = fs::read_to_string(desk.path("daemon")).expect("it runs");
    assert!(fs::metadata(format!("/proc/{}", daemon.trim())).is_ok(), "it outlives its turn");
    desk.leave();
}
