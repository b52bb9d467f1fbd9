//! Codex's protocol where a real Codex does not go: the other side is a script that says what it likes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use guildhall_domain::FailureKind;
use guildhall_runner::backend::codex::{Codex, Profile};
use guildhall_runner::backend::{
    Backend, BackendEvent, Begin, Capabilities, Control, Refusal, Setting, Thread, TurnEnd,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::suite::desk::CREDENTIAL;
use crate::suite::{Bench, Desk};

fn bench() -> Bench {
    let capabilities = Capabilities {
        name: "codex",
        steers: true,
        interrupts: true,
        resumes: true,
        asks: true,
        unplugs: true,
        lives_apart: true,
    };
    Bench::new(make, capabilities)
}

fn make(base_url: &str, setting: Setting) -> Box<dyn Backend> {
    let profile = Profile {
        program: setting.workspace.join("agent"),
        model: Some("fake-model".to_owned()),
        base_url: base_url.to_owned(),
        credential: Some(CREDENTIAL.to_owned()),
        retries: 1,
    };
    Box::new(Codex::new(setting, profile))
}

/// What says hello, begins thread `t` and turn `u`, and does more on what it is told.
fn polite(more: &str) -> String {
    format!(
        r#"#!/bin/sh
ended() {{ echo '{{"method":"turn/completed","params":{{"threadId":"t","turn":{{"id":"u","status":"'$1'"}}}}}}'; }}
while read -r line; do case "$line" in
*'"initialize"'*) echo '{{"id":0,"result":{{}}}}' ;;
*'"thread/'*) echo '{{"id":1,"result":{{"thread":{{"id":"t"}}}}}}' ;;
{more}
esac; done
"#
    )
}

const BEGINS: &str = r#"*'"turn/start"'*) echo '{"id":2,"result":{"turn":{"id":"u"}}}'"#;

async fn desk<'a>(bench: &'a Bench, script: &str) -> Desk<'a> {
    let desk = Desk::set(bench).await;
    let agent = desk.path("agent");
    fs::write(&agent, script).expect("written");
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("allowed");
    desk
}

#[tokio::test]
async fn a_power_that_we_do_not_know_is_refused_and_reported() {
    let script = polite(&format!(
        "{BEGINS}; echo '{{\"id\":\"x\",\"method\":\"grant/everything\",\"params\":{{\"all\":true}}}}' ;;\n\
         *'\"id\":\"x\"'*) echo \"$line\" > answer; ended completed ;;"
    ));
    let bench = bench();
    let mut desk = desk(&bench, &script).await;
    desk.begin(Begin::New).await.expect("a new thread");
    let report = desk.turn("hello").await;
    assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    let declined =
        BackendEvent::Declined { what: "grant/everything".to_owned(), detail: json!({ "all": true }) };
    assert!(report.events.contains(&declined), "{report:?}");
    let answer = fs::read_to_string(desk.path("answer")).expect("it was answered");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert!(answer["error"]["code"].is_i64() && answer.get("result").is_none(), "{answer}");
    desk.leave();
}

#[tokio::test]
async fn a_turn_that_does_not_stop_is_ended_with_its_process() {
    let bench = bench();
    let mut desk = desk(&bench, &polite(&format!("{BEGINS} ;;"))).await;
    desk.begin(Begin::New).await.expect("a new thread");
    let begun = Instant::now();
    let report = desk.turn_after(Control::Interrupt, "hello").await;
    let failure = report.failure();
    assert!(failure.died && failure.message.contains("did not stop within 10 s"), "{failure:?}");
    assert!((9..15).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    assert_eq!(desk.backend.as_ref().and_then(|backend| backend.process()), None);
    desk.leave();
}

#[tokio::test]
async fn another_thread_than_the_one_asked_for_is_no_resumption() {
    let bench = bench();
    let mut desk = desk(&bench, &polite("")).await;
    let failure = desk.begin(Begin::Resume(Thread("mine".to_owned()))).await.expect_err("it is not mine");
    assert_eq!(failure.kind, FailureKind::ThreadResumeFailed);
    desk.leave();
}

#[tokio::test]
async fn a_message_without_bounds_is_left_out_and_said_to_be() {
    let flood = format!("{BEGINS}; head -c 20000000 /dev/zero | tr '\\0' x; echo; ended completed ;;");
    let bench = bench();
    let mut desk = desk(&bench, &polite(&flood)).await;
    desk.begin(Begin::New).await.expect("a new thread");
    let report = desk.turn("hello").await;
    assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    let left_out =
        BackendEvent::Other { kind: "codex_unreadable".to_owned(), payload: json!({ "bytes": 20_000_000 }) };
    assert!(report.events.contains(&left_out), "{report:?}");
    desk.leave();
}

#[tokio::test]
async fn words_count_as_taken_only_when_the_agent_says_so() {
    let refused = r#"*'"turn/steer"'*) echo '{"id":3,"error":{"code":-32600,"message":"no active turn to steer"}}'; ended completed ;;"#;
    let unsaid = r#"*'"turn/steer"'*) exit 7 ;;"#;
    let unwilling = r#"*'"turn/steer"'*) echo '{"id":3,"error":{"code":-32600,"message":"not now"}}'; ended completed ;;"#;
    for (script, expected) in
        [(refused, Refusal::NoTurn), (unsaid, Refusal::Silent), (unwilling, Refusal::Unable)]
    {
        let bench = bench();
        let mut desk = desk(&bench, &polite(&format!("{BEGINS} ;;\n{script}"))).await;
        desk.begin(Begin::New).await.expect("a new thread");
        let (taken, answer) = oneshot::channel();
        let report = desk.turn_after(Control::Steer { words: "rather".to_owned(), taken }, "hello").await;
        assert_eq!(answer.await, Ok(Err(expected)), "{report:?}");
        desk.leave();
    }
}

#[tokio::test]
async fn the_end_of_another_turn_is_not_the_end_of_ours() {
    let other = r#"echo '{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"old","status":"failed"}}}'"#;
    let bench = bench();
    let mut desk = desk(&bench, &polite(&format!("{BEGINS}; {other}; ended completed ;;"))).await;
    desk.begin(Begin::New).await.expect("a new thread");
    assert_eq!(desk.turn("hello").await.end, TurnEnd::Completed);
    desk.leave();
}

#[tokio::test]
async fn the_last_words_of_an_agent_that_fails_are_reported() {
    let bench = bench();
    let mut desk =
        desk(&bench, &polite(&format!("{BEGINS}; echo 'out of luck' >&2; sleep 0.2; exit 7 ;;"))).await;
    desk.begin(Begin::New).await.expect("a new thread");
    let report = desk.turn("hello").await;
    assert_eq!(report.failure().message, "codex has ended: exit status: 7");
    let detail = json!({ "stderr": "out of luck\n" });
    let last_words = BackendEvent::Status { phase: "backend-ended".to_owned(), detail };
    assert!(report.events.contains(&last_words), "{report:?}");
    desk.leave();
}
