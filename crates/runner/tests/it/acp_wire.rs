//! The Agent Client Protocol where a real agent does not go: the other side is a script that says what it likes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::Approval;
use guildhall_runner::backend::acp::{Acp, Profile};
use guildhall_runner::backend::{Backend, BackendEvent, Begin, Control, Setting, Thread, TurnEnd};
use serde_json::{Value, json};

use crate::suite::{Bench, Desk};

fn bench() -> Bench {
    Bench { make, ..crate::acp::bench() }
}

fn make(_base_url: &str, setting: Setting) -> Box<dyn Backend> {
    let profile = Profile {
        command: vec![setting.workspace.join("agent").to_string_lossy().into_owned()],
        model: None,
        base_url: None,
        env: BTreeMap::new(),
        settings: BTreeMap::new(),
        silent_at_most: Duration::from_secs(2),
    };
    Box::new(Acp::new(setting, profile))
}

/// What says hello, begins session `s`, and does more on what it is told. `modes` is what it offers.
fn polite(abilities: &str, modes: &str, more: &str) -> String {
    format!(
        r#"#!/bin/sh
update() {{ echo '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":'"$1"'}}}}'; }}
says() {{ update '{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"'"$1"'"}}}}'; }}
ended() {{ echo '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"'$1'"}}}}'; }}
while read -r line; do case "$line" in
*'"initialize"'*) echo '{{"id":0,"result":{{"protocolVersion":1,"agentCapabilities":{abilities}}}}}' ;;
*'"session/new"'*) echo '{{"id":1,"result":{{"sessionId":"s"{modes}}}}}' ;;
*'"session/set_mode"'*) echo '{{"id":2,"error":{{"code":-32601,"message":"no such method"}}}}' ;;
{more}
esac; done
"#
    )
}

fn plain(more: &str) -> String {
    polite("{}", "", more)
}

async fn desk<'a>(bench: &'a Bench, script: &str) -> Desk<'a> {
    let desk = Desk::set(bench).await;
    let agent = desk.path("agent");
    fs::write(&agent, script).expect("written");
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("allowed");
    desk
}

#[tokio::test]
async fn a_power_that_we_do_not_know_is_refused_and_reported() {
    for method in ["fs/read_text_file", "terminal/create", "grant/everything"] {
        let script = plain(&format!(
            "*'\"session/prompt\"'*) echo '{{\"id\":\"x\",\"method\":\"{method}\",\"params\":{{\"all\":true}}}}' ;;\n\
             *'\"id\":\"x\"'*) echo \"$line\" > answer; ended end_turn ;;"
        ));
        let bench = bench();
        let mut desk = desk(&bench, &script).await;
        desk.begin(Begin::New).await.expect("a new session");
        let report = desk.turn("hello").await;
        assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
        let declined = BackendEvent::Declined { what: method.to_owned(), detail: json!({ "all": true }) };
        assert!(report.events.contains(&declined), "{report:?}");
        let answer = fs::read_to_string(desk.path("answer")).expect("it was answered");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert!(answer["error"]["code"].is_i64() && answer.get("result").is_none(), "{answer}");
        desk.leave();
    }
}

#[tokio::test]
async fn what_we_do_not_know_passes_on_and_another_session_is_not_ours() {
    let other = r#"echo '{"method":"session/update","params":{"sessionId":"theirs","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"psst"}}}}'"#;
    let strange =
        r#"update '{"sessionUpdate":"newThing","a":1}'; echo '{"method":"vendor/notice","params":{"b":2}}'"#;
    let script = plain(&format!("*'\"session/prompt\"'*) {other}; {strange}; says hi; ended end_turn ;;"));
    let bench = bench();
    let mut desk = desk(&bench, &script).await;
    desk.begin(Begin::New).await.expect("a new session");
    let report = desk.turn("hello").await;
    assert_eq!((report.streamed().as_str(), report.said()), ("hi", vec!["hi".to_owned()]), "{report:?}");
    for (kind, payload) in [
        ("acp_new_thing", json!({ "sessionUpdate": "newThing", "a": 1 })),
        ("acp_vendor_notice", json!({ "b": 2 })),
    ] {
        let event = BackendEvent::Other { kind: kind.to_owned(), payload };
        assert!(report.events.contains(&event), "{report:?}");
    }
    desk.leave();
}

#[tokio::test]
async fn an_agent_that_asks_for_ever_is_cut_off() {
    let asks = r#"echo '{"id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[]}}'"#;
    let script = plain(&format!(
        "*'\"session/prompt\"'*) {asks} ;;\n*'\"id\":\"p\"'*) [ \"$over\" ] || {asks} ;;\n\
         *'\"session/cancel\"'*) over=1; ended cancelled ;;"
    ));
    let bench = bench();
    let mut desk = desk(&bench, &script).await;
    desk.setting.tool_calls_at_most = 5;
    desk.begin(Begin::New).await.expect("a new session");
    let report = desk.turn("hello").await;
    assert!(report.failure().message.contains("asked for more than 12 things"), "{report:?}");
    let declined = report.count(|event| matches!(event, BackendEvent::Declined { .. }));
    assert!((12..30).contains(&declined), "{declined}");
    desk.leave();
}

#[tokio::test]
async fn an_agent_that_cannot_be_made_to_ask_does_not_run_where_it_must() {
    let modes = r#","modes":{"currentModeId":"yolo","availableModes":[{"id":"yolo","name":"Yolo"}]}"#;
    let bench = bench();
    let mut desk = desk(&bench, &polite("{}", modes, "")).await;
    desk.setting.approval = Approval::OnRequest;
    let failure = desk.begin(Begin::New).await.expect_err("it would not ask");
    assert_eq!(failure.kind, FailureKind::TenantPolicyDenied, "{failure:?}");
    desk.setting.approval = Approval::Never;
    desk.begin(Begin::New).await.expect("nobody needs to be asked");
    desk.leave();
}

#[tokio::test]
async fn a_model_that_says_nothing_is_given_up_long_before_the_turn() {
    let script = plain("*'\"session/cancel\"'*) ended cancelled ;;");
    let bench = bench();
    let mut desk = desk(&bench, &script).await;
    desk.begin(Begin::New).await.expect("a new session");
    let report = desk.turn("hello").await;
    let failure = report.failure();
    assert_eq!((failure.kind, failure.died), (FailureKind::ProviderUnavailable, false), "{failure:?}");
    assert!(failure.message.contains("heard nothing for 2 s"), "{failure:?}");
    desk.leave();
}

#[tokio::test]
async fn a_turn_that_does_not_stop_is_ended_with_its_process() {
    let bench = bench();
    let mut desk = desk(&bench, &plain("")).await;
    desk.begin(Begin::New).await.expect("a new session");
    let report = desk.turn_after(Control::Interrupt, "hello").await;
    let failure = report.failure();
    assert!(failure.died && failure.message.contains("did not stop within 10 s"), "{failure:?}");
    assert_eq!(desk.backend.as_ref().and_then(|backend| backend.process()), None);
    desk.leave();
}

#[tokio::test]
async fn what_was_said_before_is_not_told_again_when_a_session_is_loaded() {
    let loads = "*'\"session/load\"'*) says past; echo '{\"id\":1,\"result\":{}}' ;;\n\
                 *'\"session/prompt\"'*) says present; ended end_turn ;;";
    let bench = bench();
    let mut desk = desk(&bench, &polite(r#"{"loadSession":true}"#, "", loads)).await;
    let thread = Thread("s".to_owned());
    assert_eq!(desk.begin(Begin::Resume(thread.clone())).await, Ok(thread));
    assert_eq!(desk.turn("hello").await.streamed(), "present");
    desk.leave();
}

#[tokio::test]
async fn an_agent_that_cannot_take_up_a_session_says_so_and_begins_no_other() {
    let bench = bench();
    let mut desk = desk(&bench, &plain("")).await;
    let failure = desk.begin(Begin::Resume(Thread("s".to_owned()))).await.expect_err("it cannot");
    assert_eq!(failure.kind, FailureKind::ThreadResumeFailed, "{failure:?}");
    desk.leave();
}
