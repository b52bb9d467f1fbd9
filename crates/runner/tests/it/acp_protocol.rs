//! The Agent Client Protocol with a shell script in place of the agent, for messages that a real agent does not send.

use std::collections::BTreeMap;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::runs::policy::Approval;
use guildhall_runner::backend::acp::{AcpBackend, AcpProfile};
use guildhall_runner::backend::{
    Backend, BackendConfig, BackendEvent, ModelApi, ThreadId, ThreadStart, TurnControl, TurnOutcome,
};
use serde_json::{Value, json};

use crate::suite::harness::{RED_PNG_BASE64, red_image};
use crate::suite::turns::{self, answered_turn};
use crate::suite::{BackendFixture, Harness};

fn fixture() -> BackendFixture {
    BackendFixture { create, ..crate::acp::fixture() }
}

fn create(_base_url: &str, config: BackendConfig) -> Box<dyn Backend> {
    let profile = AcpProfile {
        command: vec![config.workspace.join("agent").to_string_lossy().into_owned()],
        model: None,
        api: ModelApi::Chat,
        base_url: None,
        env: BTreeMap::new(),
        settings: BTreeMap::new(),
        silence_timeout: Duration::from_secs(2),
    };
    Box::new(AcpBackend::new(config, profile))
}

/// A script that completes the handshake with session `s` and handles more messages with the given `case` branches.
fn agent_script_with(capabilities: &str, modes: &str, branches: &str) -> String {
    format!(
        r#"#!/bin/sh
update() {{ echo '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":'"$1"'}}}}'; }}
says() {{ update '{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"'"$1"'"}}}}'; }}
ended() {{ echo '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"'$1'"}}}}'; }}
while read -r line; do case "$line" in
*'"initialize"'*) echo "$line" > initialize; echo '{{"id":0,"result":{{"protocolVersion":1,"agentCapabilities":{capabilities}}}}}' ;;
*'"session/new"'*) echo '{{"id":1,"result":{{"sessionId":"s"{modes}}}}}' ;;
*'"session/set_mode"'*) echo '{{"id":2,"error":{{"code":-32601,"message":"no such method"}}}}' ;;
{branches}
esac; done
"#
    )
}

fn agent_script(branches: &str) -> String {
    agent_script_with("{}", "", branches)
}

#[tokio::test]
async fn unknown_request_is_rejected_and_reported() {
    for method in ["fs/read_text_file", "terminal/create", "grant/everything"] {
        let script = agent_script(&format!(
            "*'\"session/prompt\"'*) echo '{{\"id\":\"x\",\"method\":\"{method}\",\"params\":{{\"all\":true}}}}' ;;\n\
             *'\"id\":\"x\"'*) echo \"$line\" > answer; ended end_turn ;;"
        ));
        let fixture = fixture();
        let mut harness = Harness::with_agent_script(&fixture, &script).await;
        harness.start(ThreadStart::New).await.expect("start a session");
        let report = harness.turn("hello").await;
        assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
        harness.assert_request_rejected(&report, method);
        harness.finish();
    }
}

#[tokio::test]
async fn unknown_update_is_passed_through_and_other_sessions_are_ignored() {
    let other = r#"echo '{"method":"session/update","params":{"sessionId":"theirs","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"psst"}}}}'"#;
    let unknown =
        r#"update '{"sessionUpdate":"newThing","a":1}'; echo '{"method":"vendor/notice","params":{"b":2}}'"#;
    let script =
        agent_script(&format!("*'\"session/prompt\"'*) {other}; {unknown}; says hi; ended end_turn ;;"));
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &script).await;
    harness.start(ThreadStart::New).await.expect("start a session");
    let report = harness.turn("hello").await;
    let expected = ("hi", vec!["hi".to_owned()]);
    assert_eq!((report.streamed_text().as_str(), report.messages()), expected, "{report:?}");
    for (kind, payload) in [
        ("acp_new_thing", json!({ "sessionUpdate": "newThing", "a": 1 })),
        ("acp_vendor_notice", json!({ "b": 2 })),
    ] {
        let event = BackendEvent::Other { kind: kind.to_owned(), payload };
        assert!(report.events.contains(&event), "{report:?}");
    }
    harness.finish();
}

#[tokio::test]
async fn endless_permission_requests_stop_the_turn() {
    let ask = r#"echo '{"id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[]}}'"#;
    let script = agent_script(&format!(
        "*'\"session/prompt\"'*) {ask} ;;\n*'\"id\":\"p\"'*) [ \"$over\" ] || {ask} ;;\n\
         *'\"session/cancel\"'*) over=1; ended cancelled ;;"
    ));
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &script).await;
    harness.config.max_tool_calls = 5;
    harness.start(ThreadStart::New).await.expect("start a session");
    let report = harness.turn("hello").await;
    assert!(report.failure().message.contains("sent more than 12 requests"), "{report:?}");
    let declined = report.declined();
    assert!((12..30).contains(&declined), "{declined}");
    harness.finish();
}

/// A script that sends one elicitation and writes our response to `answer`.
fn asking_script(params: &Value) -> String {
    let request = json!({ "jsonrpc": "2.0", "id": "e", "method": "elicitation/create", "params": params });
    agent_script(&format!(
        "*'\"session/prompt\"'*) echo '{request}' ;;\n*'\"id\":\"e\"'*) echo \"$line\" > answer; says done; ended end_turn ;;\n\
         *'\"session/cancel\"'*) ended cancelled ;;"
    ))
}

fn form(sessions: &str) -> Value {
    let schema =
        json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    json!({ "sessionId": sessions, "mode": "form", "message": "Who are you?", "requestedSchema": schema })
}

/// Returns the result of our response to the elicitation.
fn elicitation_result(harness: &Harness<'_>) -> Value {
    let response = std::fs::read_to_string(harness.path("answer")).expect("a response was sent");
    serde_json::from_str::<Value>(&response).expect("JSON")["result"].clone()
}

#[tokio::test]
async fn elicitation_is_answered_by_a_person() {
    let link = json!({
        "sessionId": "s", "mode": "url", "message": "Sign in", "url": "https://login.example.org/x", "elicitationId": "i",
    });
    let values = json!({ "name": "Ada" });
    let declined = json!({ "action": "decline" });
    for (params, effect, values, expected) in [
        (form("s"), OptionEffect::Answer, values.clone(), json!({ "action": "accept", "content": values })),
        (form("s"), OptionEffect::Deny, Value::Null, declined.clone()),
        (link.clone(), OptionEffect::Allow, Value::Null, json!({ "action": "accept" })),
        (link, OptionEffect::Deny, Value::Null, declined),
    ] {
        let fixture = fixture();
        let mut harness = Harness::with_agent_script(&fixture, &asking_script(&params)).await;
        harness.config.approval = Approval::OnRequest;
        harness.start(ThreadStart::New).await.expect("start a session");
        let mut asked = harness.listen_to_questions();
        let (question, report) = answered_turn(&mut harness, &mut asked, "hello", effect, values).await;
        assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
        assert_eq!(question.reason.as_deref(), params["message"].as_str());
        assert_eq!(elicitation_result(&harness), expected, "{params}");
        let initialize = std::fs::read_to_string(harness.path("initialize")).expect("a request");
        let initialize: Value = serde_json::from_str(&initialize).expect("JSON");
        let offered = &initialize["params"]["clientCapabilities"]["elicitation"];
        assert_eq!(offered, &json!({ "form": {}, "url": {} }));
        harness.finish();
    }
}

#[tokio::test]
async fn elicitation_that_nobody_can_be_asked_is_declined_and_reported() {
    let mut nested = form("s");
    nested["requestedSchema"]["properties"]["name"] = json!({ "type": "object" });
    let script = json!({ "sessionId": "s", "mode": "url", "message": "m", "url": "javascript:alert(1)" });
    for (params, approval) in [
        (nested, Approval::OnRequest),
        (script, Approval::OnRequest),
        (form("theirs"), Approval::OnRequest),
        (json!({ "sessionId": "s", "mode": "new", "message": "m" }), Approval::OnRequest),
        (form("s"), Approval::Never),
    ] {
        let fixture = fixture();
        let mut harness = Harness::with_agent_script(&fixture, &asking_script(&params)).await;
        harness.config.approval = approval;
        harness.start(ThreadStart::New).await.expect("start a session");
        let mut asked = harness.listen_to_questions();
        let report = harness.turn("hello").await;
        assert!(asked.try_recv().is_err(), "{params}");
        assert_eq!(elicitation_result(&harness), json!({ "action": "decline" }), "{params}");
        let event = BackendEvent::ApprovalDeclined { what: "elicitation".to_owned(), detail: params };
        assert!(report.events.contains(&event), "{report:?}");
        harness.finish();
    }
}

#[tokio::test]
async fn cancelled_turn_cancels_its_elicitation() {
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &asking_script(&form("s"))).await;
    harness.config.approval = Approval::OnRequest;
    harness.start(ThreadStart::New).await.expect("start a session");
    let mut asked = harness.listen_to_questions();
    let report = harness.turn_while("hello", async |controls, _| {
        let mut pending = asked.recv().await.expect("a question");
        controls.send(TurnControl::Interrupt).await.expect("the turn runs");
        pending.reply.closed().await;
    });
    let report = report.await;
    assert_eq!(report.outcome, TurnOutcome::Interrupted, "{report:?}");
    harness.finish();
}

#[tokio::test]
async fn time_limit_does_not_count_the_wait_for_a_person() {
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &asking_script(&form("s"))).await;
    turns::time_limit_does_not_count_the_wait_for_a_person(&mut harness).await;
    harness.finish();
}

#[tokio::test]
async fn agent_without_an_ask_mode_is_rejected_when_approval_is_needed() {
    let modes = r#","modes":{"currentModeId":"yolo","availableModes":[{"id":"yolo","name":"Yolo"}]}"#;
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &agent_script_with("{}", modes, "")).await;
    harness.config.approval = Approval::OnRequest;
    let failure = harness.start(ThreadStart::New).await.expect_err("it would not ask");
    assert_eq!(failure.kind, FailureKind::TenantPolicyDenied, "{failure:?}");
    harness.config.approval = Approval::Never;
    harness.start(ThreadStart::New).await.expect("no approval is needed");
    harness.finish();
}

#[tokio::test]
async fn silent_model_ends_the_turn_before_its_timeout() {
    let script = agent_script("*'\"session/cancel\"'*) ended cancelled ;;");
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &script).await;
    harness.start(ThreadStart::New).await.expect("start a session");
    let report = harness.turn("hello").await;
    let failure = report.failure();
    assert_eq!((failure.kind, failure.died), (FailureKind::ProviderUnavailable, false), "{failure:?}");
    assert!(failure.message.contains("did not respond for 2 s"), "{failure:?}");
    harness.finish();
}

#[tokio::test]
async fn turn_that_does_not_stop_is_killed() {
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &agent_script("")).await;
    harness.start(ThreadStart::New).await.expect("start a session");
    let report = harness.turn_after(TurnControl::Interrupt, "hello").await;
    let failure = report.failure();
    assert!(failure.died && failure.message.contains("did not stop within 10 s"), "{failure:?}");
    assert_eq!(harness.process_id(), None);
    harness.finish();
}

#[tokio::test]
async fn loading_a_session_does_not_report_its_earlier_messages() {
    let branches = "*'\"session/load\"'*) says past; echo '{\"id\":1,\"result\":{}}' ;;\n\
                    *'\"session/prompt\"'*) says present; ended end_turn ;;";
    let fixture = fixture();
    let script = agent_script_with(r#"{"loadSession":true}"#, "", branches);
    let mut harness = Harness::with_agent_script(&fixture, &script).await;
    let thread = ThreadId("s".to_owned());
    assert_eq!(harness.start(ThreadStart::Resume(thread.clone())).await, Ok(thread));
    assert_eq!(harness.turn("hello").await.streamed_text(), "present");
    harness.finish();
}

// covers: R12
#[tokio::test]
async fn resume_fails_when_the_agent_does_not_support_it() {
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &agent_script("")).await;
    let resume = ThreadStart::Resume(ThreadId("s".to_owned()));
    let failure = harness.start(resume).await.expect_err("it cannot");
    assert_eq!(failure.kind, FailureKind::ThreadResumeFailed, "{failure:?}");
    harness.finish();
}

#[tokio::test]
async fn agent_that_takes_no_images_fails_a_turn_with_them_in_words() {
    let script = agent_script("*'\"session/prompt\"'*) says hi; ended end_turn ;;");
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &script).await;
    harness.start(ThreadStart::New).await.expect("start a session");
    let report = harness.turn_with_images("what is it?", vec![red_image()]).await;
    let message = "this agent takes no images: send the message without them";
    let failure = report.failure();
    assert_eq!(
        (failure.kind, failure.message.as_str(), failure.died),
        (FailureKind::InvalidInput, message, false)
    );
    let report = harness.turn("without them").await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    harness.finish();
}

#[tokio::test]
async fn agent_that_takes_images_gets_them_before_the_text() {
    let branches = "*'\"session/prompt\"'*) echo \"$line\" > prompt; says hi; ended end_turn ;;";
    let capabilities = r#"{"promptCapabilities":{"image":true}}"#;
    let script = agent_script_with(capabilities, "", branches);
    let fixture = fixture();
    let mut harness = Harness::with_agent_script(&fixture, &script).await;
    harness.start(ThreadStart::New).await.expect("start a session");
    let report = harness.turn_with_images("what is it?", vec![red_image()]).await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    let request = std::fs::read_to_string(harness.path("prompt")).expect("a prompt");
    let request: Value = serde_json::from_str(&request).expect("JSON");
    let image = json!({ "type": "image", "mimeType": "image/png", "data": RED_PNG_BASE64 });
    assert_eq!(request["params"]["prompt"], json!([image, { "type": "text", "text": "what is it?" }]));
    harness.finish();
}
