//! The protocol of Codex with a shell script in place of Codex, for messages that a real Codex does not send.

use std::time::Instant;

use guildhall_domain::FailureKind;
use guildhall_runner::backend::codex::CodexBackend;
use guildhall_runner::backend::{
    Backend, BackendConfig, BackendEvent, SteerError, ThreadId, ThreadStart, TurnControl, TurnOutcome,
};
use serde_json::json;
use tokio::sync::oneshot;

use crate::suite::{BackendFixture, Harness, turns};

fn fixture() -> BackendFixture {
    BackendFixture { create, ..crate::codex::fixture() }
}

fn create(base_url: &str, config: BackendConfig) -> Box<dyn Backend> {
    let program = config.workspace.join("agent");
    Box::new(CodexBackend::new(config, crate::codex::profile(program, base_url)))
}

/// A script that completes the handshake with thread `t` and handles more messages with the given `case` branches.
fn agent_script(branches: &str) -> String {
    format!(
        r#"#!/bin/sh
ended() {{ echo '{{"method":"turn/completed","params":{{"threadId":"t","turn":{{"id":"u","status":"'$1'"}}}}}}'; }}
while read -r line; do case "$line" in
*'"initialize"'*) echo '{{"id":0,"result":{{}}}}' ;;
*'"thread/'*) echo '{{"id":1,"result":{{"thread":{{"id":"t"}}}}}}' ;;
{branches}
esac; done
"#
    )
}

/// A branch that starts turn `u`.
const START_TURN: &str = r#"*'"turn/start"'*) echo '{"id":2,"result":{"turn":{"id":"u"}}}'"#;

#[tokio::test]
async fn unknown_request_is_rejected_and_reported() {
    let script = agent_script(&format!(
        "{START_TURN}; echo '{{\"id\":\"x\",\"method\":\"grant/everything\",\"params\":{{\"all\":true}}}}' ;;\n\
         *'\"id\":\"x\"'*) echo \"$line\" > answer; ended completed ;;"
    ));
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &script).await;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let report = harness.turn("hello").await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    harness.assert_request_rejected(&report, "grant/everything");
    harness.finish();
}

#[tokio::test]
async fn time_limit_does_not_count_the_wait_for_a_person() {
    let request = json!({
        "id": "x", "method": "item/commandExecution/requestApproval",
        "params": { "threadId": "t", "turnId": "u", "itemId": "i", "command": "touch made", "cwd": "/" },
    });
    let script = agent_script(&format!(
        "{START_TURN}; echo '{request}' ;;\n*'\"turn/interrupt\"'*) echo '{{\"id\":3,\"result\":{{}}}}'; ended interrupted ;;"
    ));
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &script).await;
    turns::time_limit_does_not_count_the_wait_for_a_person(&mut harness).await;
    harness.finish();
}

#[tokio::test]
async fn turn_that_does_not_stop_is_killed() {
    let fixture = fixture();
    let script = agent_script(&format!("{START_TURN} ;;"));
    let mut harness = Harness::with_agent_script(&fixture, &script).await;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let started = Instant::now();
    let report = harness.turn_after(TurnControl::Interrupt, "hello").await;
    let failure = report.failure();
    assert!(failure.died && failure.message.contains("did not stop within 10 s"), "{failure:?}");
    assert!((9..15).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
    assert_eq!(harness.process_id(), None);
    harness.finish();
}

#[tokio::test]
async fn resuming_another_thread_is_a_failure() {
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &agent_script("")).await;
    let resume = ThreadStart::Resume(ThreadId("mine".to_owned()));
    let failure = harness.start(resume).await.expect_err("it resumed thread `t`");
    assert_eq!(failure.kind, FailureKind::ThreadResumeFailed);
    harness.finish();
}

#[tokio::test]
async fn oversized_message_is_discarded_and_reported() {
    let flood = format!("{START_TURN}; head -c 20000000 /dev/zero | tr '\\0' x; echo; ended completed ;;");
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &agent_script(&flood)).await;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let report = harness.turn("hello").await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    let discarded =
        BackendEvent::Other { kind: "codex_unreadable".to_owned(), payload: json!({ "bytes": 20_000_000 }) };
    assert!(report.events.contains(&discarded), "{report:?}");
    harness.finish();
}

#[tokio::test]
async fn steer_is_accepted_only_when_the_agent_confirms_it() {
    let no_turn = r#"*'"turn/steer"'*) echo '{"id":3,"error":{"code":-32600,"message":"no active turn to steer"}}'; ended completed ;;"#;
    let exits = r#"*'"turn/steer"'*) exit 7 ;;"#;
    let rejected = r#"*'"turn/steer"'*) echo '{"id":3,"error":{"code":-32600,"message":"not now"}}'; ended completed ;;"#;
    for (branch, expected) in [
        (no_turn, SteerError::NoActiveTurn),
        (exits, SteerError::Timeout),
        (rejected, SteerError::Unsupported),
    ] {
        let fixture = fixture();
        let script = agent_script(&format!("{START_TURN} ;;\n{branch}"));
        let mut harness = Harness::with_agent_script(&fixture, &script).await;
        harness.start(ThreadStart::New).await.expect("start a thread");
        let (reply, response) = oneshot::channel();
        let steer = TurnControl::Steer { text: "rather".to_owned(), reply };
        let report = harness.turn_after(steer, "hello").await;
        assert_eq!(response.await, Ok(Err(expected)), "{report:?}");
        harness.finish();
    }
}

#[tokio::test]
async fn end_of_another_turn_is_ignored() {
    let other = r#"echo '{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"old","status":"failed"}}}'"#;
    let fixture = fixture();
    let script = agent_script(&format!("{START_TURN}; {other}; ended completed ;;"));
    let mut harness = Harness::with_agent_script(&fixture, &script).await;
    harness.start(ThreadStart::New).await.expect("start a thread");
    assert_eq!(harness.turn("hello").await.outcome, TurnOutcome::Completed);
    harness.finish();
}

#[tokio::test]
async fn stderr_of_a_failed_agent_is_reported() {
    let fixture = fixture();
    let script = agent_script(&format!("{START_TURN}; echo 'out of luck' >&2; sleep 0.2; exit 7 ;;"));
    let mut harness = Harness::with_agent_script(&fixture, &script).await;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let report = harness.turn("hello").await;
    assert_eq!(
        report.failure().message,
        "codex exited: exit status: 7; side effects unknown: check the workspace"
    );
    let detail = json!({ "stderr": "out of luck\n" });
    let status = BackendEvent::Status { phase: "backend-ended".to_owned(), detail };
    assert!(report.events.contains(&status), "{report:?}");
    harness.finish();
}
