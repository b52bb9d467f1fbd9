//! Every kind of question of the real Codex 0.166.0, answered by a person. A script starts Codex with an MCP server and with
//! tools that are off by default.

use std::fs;

use guildhall_domain::approvals::question::{OptionEffect, Question, QuestionKind};
use guildhall_domain::runs::policy::Approval;
use guildhall_runner::backend::codex::CodexBackend;
use guildhall_runner::backend::{
    Backend, BackendConfig, BackendEvent, PendingQuestion, ThreadStart, TurnOutcome,
};
use guildhall_runner::sandbox::Containment;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::suite::harness::TurnReport;
use crate::suite::turns::answered_turn;
use crate::suite::{BackendFixture, Harness};

/// An MCP server with a tool that changes something, one that asks for values, and one that asks to open a link.
const SERVER: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
reply() { echo '{"jsonrpc":"2.0","id":'"$1"',"result":'"$2"'}'; }
ask() { echo '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":'"$1"'}'; }
tool() { echo '{"name":"'$1'","description":"d","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":'$2'}}'; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"initialize"'*) reply $id '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}' ;;
  *'"tools/list"'*) reply $id '{"tools":['"$(tool create false),$(tool ask true),$(tool odd true),$(tool link true)"']}' ;;
  *'"name":"ask"'*) call=$id; ask '{"mode":"form","message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":2},"colour":{"type":"string","enum":["red","blue"]}},"required":["name"]}}' ;;
  *'"name":"link"'*) call=$id; ask '{"mode":"url","message":"Sign in","url":"https://login.example.org/x?y=z","elicitationId":"e"}' ;;
  *'"name":"odd"'*) call=$id; ask '{"mode":"url","message":"Sign in","url":"ftp://login.example.org/","elicitationId":"e"}' ;;
  *'"tools/call"'*) echo called >> calls; reply $id '{"content":[{"type":"text","text":"created"}]}' ;;
  *'"id":900'*) echo "$line" > elicited; reply $call '{"content":[{"type":"text","text":"thanks"}]}' ;;
  esac
done
"#;

fn fixture() -> BackendFixture {
    BackendFixture { create, ..crate::codex::fixture() }
}

fn create(base_url: &str, config: BackendConfig) -> Box<dyn Backend> {
    // The script starts a program that the sandbox would not show.
    let config = BackendConfig { containment: Containment::Uncontained, user: None, ..config };
    let program = config.workspace.join("agent");
    Box::new(CodexBackend::new(config, crate::codex::profile(program, base_url)))
}

async fn started(fixture: &BackendFixture) -> (Harness<'_>, mpsc::Receiver<PendingQuestion>) {
    let codex = guildhall_testkit::codex_program();
    let script = format!(
        "#!/bin/sh\nexec {} -c 'mcp_servers.tracker.command=\"/bin/sh\"' -c \"mcp_servers.tracker.args=[\\\"$PWD/server\\\"]\" \
         -c features.default_mode_request_user_input=true -c features.request_permissions_tool=true \"$@\"\n",
        codex.display()
    );
    let mut harness = Harness::with_agent_script(fixture, &script).await;
    fs::write(harness.path("server"), SERVER).expect("write the server");
    harness.config.approval = Approval::OnRequest;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let asked = harness.listen_to_questions();
    (harness, asked)
}

/// Runs a turn in which the model calls a tool, and answers its question.
async fn call_tool(
    harness: &mut Harness<'_>,
    asked: &mut mpsc::Receiver<PendingQuestion>,
    call: &str,
    effect: OptionEffect,
    values: Value,
) -> (Question, TurnReport) {
    let (question, report) = answered_turn(harness, asked, &format!("tool:{call}"), effect, values).await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    assert_eq!((question.check(), report.declined()), (Ok(()), 0), "{question:?} {report:?}");
    (question, report)
}

/// Returns what the model was told about its last tool call.
fn tool_result(harness: &Harness<'_>) -> String {
    let body = harness.model.requests().last().expect("a request").body.clone();
    let mut results = body["input"].as_array().expect("input").iter();
    results.rfind(|item| item["type"] == "function_call_output").expect("a result")["output"].to_string()
}

#[tokio::test]
async fn call_of_an_mcp_tool_runs_only_if_a_person_allows_it() {
    let fixture = fixture();
    let (mut harness, mut asked) = started(&fixture).await;
    let call = r#"mcp__tracker/create {"title":"a; rm -rf ~"}"#;
    let calls = |harness: &Harness<'_>| fs::read_to_string(harness.path("calls")).unwrap_or_default();
    let (question, _) = call_tool(&mut harness, &mut asked, call, OptionEffect::Deny, Value::Null).await;
    let shown = (question.action.kind, question.action.tool.as_str(), question.action.arguments);
    assert_eq!(shown, (QuestionKind::McpTool, "tracker/create", Some(json!({ "title": "a; rm -rf ~" }))));
    assert_eq!(calls(&harness), "");
    // It is asked again each time: Codex remembers nothing.
    for count in 1..=2 {
        let (_, report) = call_tool(&mut harness, &mut asked, call, OptionEffect::Allow, Value::Null).await;
        assert_eq!(calls(&harness), "called\n".repeat(count));
        assert_eq!(report.tool_arguments(), json!({ "title": "a; rm -rf ~" }));
    }
    harness.finish();
}

#[tokio::test]
async fn elicitation_of_an_mcp_server_is_answered_by_a_person() {
    let fixture = fixture();
    let (mut harness, mut asked) = started(&fixture).await;
    let elicited = |harness: &Harness<'_>| {
        let reply = fs::read_to_string(harness.path("elicited")).expect("a reply");
        serde_json::from_str::<Value>(&reply).expect("JSON")["result"].clone()
    };
    let values = json!({ "name": "Ada", "colour": "red" });
    let (ask, link) = ("mcp__tracker/ask {}", "mcp__tracker/link {}");
    let (question, _) = call_tool(&mut harness, &mut asked, ask, OptionEffect::Answer, values.clone()).await;
    assert_eq!(
        (question.action.kind, question.action.tool.as_str()),
        (QuestionKind::ElicitationForm, "tracker")
    );
    let form = question.form().expect("valid").expect("a form");
    assert_eq!(form.fields().iter().map(|field| field.is_required).collect::<Vec<_>>(), [false, true]);
    assert_eq!(elicited(&harness), json!({ "action": "accept", "content": values }));
    call_tool(&mut harness, &mut asked, ask, OptionEffect::Deny, Value::Null).await;
    assert_eq!(elicited(&harness)["action"], "decline");
    let (question, _) = call_tool(&mut harness, &mut asked, link, OptionEffect::Allow, Value::Null).await;
    assert_eq!(question.action.link(), Some(("https://login.example.org/x?y=z", "login.example.org")));
    assert_eq!(elicited(&harness)["action"], "accept");
    // Nobody is asked about a link that is not a web address.
    let report = harness.turn("tool:mcp__tracker/odd {}").await;
    assert!(asked.try_recv().is_err(), "{report:?}");
    let is_declined = |event: &BackendEvent| matches!(event, BackendEvent::ApprovalDeclined { what, .. } if what == "elicitation");
    assert_eq!((report.count(is_declined), elicited(&harness)["action"].clone()), (1, json!("decline")));
    harness.finish();
}

#[tokio::test]
async fn question_to_the_user_and_requested_permissions_are_answered() {
    let fixture = fixture();
    let (mut harness, mut asked) = started(&fixture).await;
    let options = json!([{ "label": "Blue", "description": "b" }, { "label": "Red", "description": "r" }]);
    let questions = json!({ "questions": [{ "id": "colour", "header": "Colour", "question": "Which?", "options": options }] });
    let call = format!("request_user_input {questions}");
    let values = json!({ "colour": "Green" });
    let (question, _) = call_tool(&mut harness, &mut asked, &call, OptionEffect::Answer, values).await;
    assert_eq!(question.action.kind, QuestionKind::Question);
    assert!(tool_result(&harness).contains("Green"), "{}", tool_result(&harness));
    call_tool(&mut harness, &mut asked, &call, OptionEffect::Deny, Value::Null).await;
    assert!(!tool_result(&harness).contains("Green"), "{}", tool_result(&harness));

    let path = harness.config.state.join("elsewhere");
    let wanted = json!({ "reason": "to build", "permissions": {
        "network": { "enabled": true }, "file_system": { "write": [path] },
    } });
    let call = format!("request_permissions {wanted}");
    let (question, _) = call_tool(&mut harness, &mut asked, &call, OptionEffect::Allow, Value::Null).await;
    let arguments = question.action.arguments.expect("permissions");
    assert_eq!(
        (question.action.kind, &arguments["network"]),
        (QuestionKind::Permissions, &json!({ "enabled": true }))
    );
    assert_eq!(arguments["fileSystem"]["write"], json!([path]), "{arguments}");
    let granted = tool_result(&harness);
    assert!(
        granted.contains("turn") && granted.contains("elsewhere") && !granted.contains("session"),
        "{granted}"
    );
    call_tool(&mut harness, &mut asked, &call, OptionEffect::Deny, Value::Null).await;
    assert!(!tool_result(&harness).contains("elsewhere"), "{}", tool_result(&harness));
    harness.finish();
}
