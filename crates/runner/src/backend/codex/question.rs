//! The requests of Codex as questions to people.
//!
//! Codex is answered with what lasts once or for the turn: never with an amendment of its rules, or a permission that
//! would hold for later turns.

use std::collections::{BTreeSet, HashMap};

use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::approvals::question::{Action, FileChange, Question, QuestionKind};
use guildhall_domain::runs::policy::Sandbox;
use serde::Deserialize;
use serde_json::{Value, json};

use super::mcp_call::{self, OpenMcpCalls};
use super::options::{ACCEPT, allow_or_deny};
use super::user_input;
use crate::backend::elicitation;
use crate::backend::question::empty_action;

const COMMAND: &str = "item/commandExecution/requestApproval";
const FILE_CHANGE: &str = "item/fileChange/requestApproval";
const PERMISSIONS: &str = "item/permissions/requestApproval";
const USER_INPUT: &str = "item/tool/requestUserInput";
const ELICITATION: &str = "mcpServer/elicitation/request";

/// What Codex runs without its own sandbox once it is accepted. The sandbox of the runner stays.
const CODEX_SANDBOX: &str = "sandbox of codex";

/// What requested permissions widen.
const CODEX_SANDBOX_IN_TURN: &str = "sandbox of codex, as requested, until the turn ends";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommandRequest {
    command: String,
    cwd: Option<String>,
    environment_id: Option<String>,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileChangeRequest {
    item_id: String,
    reason: Option<String>,
    grant_root: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PermissionsRequest {
    permissions: serde_json::Map<String, Value>,
    cwd: Option<String>,
    environment_id: Option<String>,
    reason: Option<String>,
}

/// The started items of a turn that requests are about. The requests do not repeat them.
#[derive(Debug, Default)]
pub(super) struct StartedItems {
    changes: HashMap<String, Vec<FileChange>>,
    mcp_calls: OpenMcpCalls,
}

impl StartedItems {
    /// Takes a notification into account.
    pub(super) fn track(&mut self, method: &str, params: &Value) {
        match method {
            "item/started" => {
                self.changes.extend(started_changes(params));
                self.mcp_calls.start(params);
            }
            "item/completed" => self.mcp_calls.complete(params),
            _ => {}
        }
    }

    fn changes_of(&self, item: &str) -> Vec<FileChange> {
        self.changes.get(item).cloned().unwrap_or_default()
    }
}

/// How a request is replied to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ReplyForm {
    /// With a decision about a command or file changes.
    Decision,
    /// With exactly these permissions, for the turn.
    Permissions(Value),
    /// With the action of an elicitation.
    Elicitation,
    /// With answers to questions.
    UserInput,
}

impl ReplyForm {
    /// Returns the reply for a chosen option; anything but the option that allows declines.
    pub(super) fn reply(&self, option: Option<&str>, content: Option<AnswerContent>) -> Value {
        let is_accepted = option == Some(ACCEPT);
        match self {
            Self::Decision => json!({ "decision": if is_accepted { ACCEPT } else { "decline" } }),
            Self::Permissions(requested) => {
                let granted = if is_accepted { requested.clone() } else { json!({}) };
                json!({ "permissions": granted, "scope": "turn" })
            }
            Self::Elicitation => elicitation::reply(option, content),
            Self::UserInput => user_input::reply(option, content),
        }
    }
}

/// Returns the question of a request, and how it is replied to; none for one that people are not asked about.
pub(super) fn of_request(
    method: &str,
    params: &Value,
    sandbox: Sandbox,
    started: &StartedItems,
) -> Option<(Question, ReplyForm)> {
    match method {
        COMMAND => Some((command(params, sandbox)?, ReplyForm::Decision)),
        FILE_CHANGE => Some((file_change(params, sandbox, started)?, ReplyForm::Decision)),
        PERMISSIONS => permissions(params, sandbox),
        USER_INPUT => Some((user_input::question(params)?, ReplyForm::UserInput)),
        ELICITATION if mcp_call::is_tool_call(params) => {
            Some((mcp_call::question(params, &started.mcp_calls)?, ReplyForm::Elicitation))
        }
        // Codex marks what it asks itself. Another mark is another kind of question.
        ELICITATION if params["_meta"]["codex_approval_kind"].is_null() => {
            let server = params["serverName"].as_str()?;
            Some((elicitation::question(server, params)?, ReplyForm::Elicitation))
        }
        _ => None,
    }
}

/// Returns the item of the tool call that a request is about, if it is known.
pub(super) fn call_of(method: &str, params: &Value, started: &StartedItems) -> Option<String> {
    match method {
        ELICITATION if mcp_call::is_tool_call(params) => mcp_call::call_id(params, &started.mcp_calls),
        ELICITATION => None,
        _ => params["itemId"].as_str().map(str::to_owned),
    }
}

fn command(params: &Value, sandbox: Sandbox) -> Option<Question> {
    let request = CommandRequest::deserialize(params).ok()?;
    let action = Action {
        arguments: Some(json!({ "command": request.command })),
        working_dir: request.cwd,
        environment: request.environment_id,
        lifts: lifts(sandbox, CODEX_SANDBOX),
        ..empty_action(QuestionKind::Command, "shell")
    };
    Some(Question { action, options: allow_or_deny(), reason: request.reason, answer_schema: None })
}

fn file_change(params: &Value, sandbox: Sandbox, started: &StartedItems) -> Option<Question> {
    let request = FileChangeRequest::deserialize(params).ok()?;
    let mut action = Action {
        changes: started.changes_of(&request.item_id),
        lifts: lifts(sandbox, CODEX_SANDBOX),
        ..empty_action(QuestionKind::FileChange, "apply_patch")
    };
    action.lifts.extend(request.grant_root.map(|root| format!("write access to {root}")));
    Some(Question { action, options: allow_or_deny(), reason: request.reason, answer_schema: None })
}

fn permissions(params: &Value, sandbox: Sandbox) -> Option<(Question, ReplyForm)> {
    let request = PermissionsRequest::deserialize(params).ok()?;
    let requested = Value::Object(request.permissions);
    let action = Action {
        arguments: Some(requested.clone()),
        working_dir: request.cwd,
        environment: request.environment_id,
        lifts: lifts(sandbox, CODEX_SANDBOX_IN_TURN),
        ..empty_action(QuestionKind::Permissions, "request_permissions")
    };
    let question = Question { action, options: allow_or_deny(), reason: request.reason, answer_schema: None };
    Some((question, ReplyForm::Permissions(requested)))
}

fn lifts(sandbox: Sandbox, lifted: &str) -> BTreeSet<String> {
    match sandbox {
        Sandbox::ReadOnly | Sandbox::WorkspaceWrite => BTreeSet::from([lifted.to_owned()]),
        Sandbox::DangerFullAccess => BTreeSet::new(),
    }
}

/// Returns the id and the changes of a started item that changes files.
fn started_changes(params: &Value) -> Option<(String, Vec<FileChange>)> {
    let item = &params["item"];
    if item["type"] != "fileChange" {
        return None;
    }
    let change = |change: &Value| {
        let path = change["path"].as_str()?.to_owned();
        let kind = change["kind"]["type"].as_str().or(change["kind"].as_str()).unwrap_or("change");
        let text = format!("{kind}\n{}", change["diff"].as_str()?);
        Some(FileChange { path, text })
    };
    let changes = item["changes"].as_array()?.iter().map(change).collect::<Option<Vec<_>>>()?;
    Some((item["id"].as_str()?.to_owned(), changes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, params: &Value, started: &StartedItems) -> Option<(Question, ReplyForm)> {
        of_request(method, params, Sandbox::WorkspaceWrite, started)
    }

    #[test]
    fn command_is_asked_whole_with_its_directory() {
        let command = format!("{}; rm -rf ~", "echo x; ".repeat(512));
        let params = json!({ "command": command, "cwd": "/work", "reason": "please", "itemId": "i" });
        let (question, reply) = asked(COMMAND, &params, &StartedItems::default()).expect("a question");
        assert_eq!(question.action.arguments, Some(json!({ "command": command })));
        assert_eq!(question.action.working_dir.as_deref(), Some("/work"));
        assert_eq!(question.action.lifts, BTreeSet::from([CODEX_SANDBOX.to_owned()]));
        assert_eq!((question.check(), reply), (Ok(()), ReplyForm::Decision));
        assert_eq!(call_of(COMMAND, &params, &StartedItems::default()).as_deref(), Some("i"));
    }

    #[test]
    fn file_change_is_asked_with_the_diff_of_its_item() {
        let item = json!({ "item": { "type": "fileChange", "id": "i", "changes": [
            { "path": "a", "kind": { "type": "add" }, "diff": "+one" },
        ] } });
        let mut started = StartedItems::default();
        started.track("item/started", &item);
        let expected = vec![FileChange { path: "a".to_owned(), text: "add\n+one".to_owned() }];
        let params = json!({ "itemId": "i", "reason": null, "grantRoot": "/etc" });
        let question = of_request(FILE_CHANGE, &params, Sandbox::DangerFullAccess, &started);
        let action = question.expect("a question").0.action;
        assert_eq!((action.changes, action.lifts), (expected, ["write access to /etc".to_owned()].into()));
    }

    #[test]
    fn permissions_are_asked_whole_and_granted_exactly_for_the_turn() {
        let requested = json!({
            "network": { "enabled": true },
            "fileSystem": { "entries": [{ "access": "write", "path": { "type": "path", "path": "/etc" } }] },
        });
        let params =
            json!({ "itemId": "i", "cwd": "/work", "reason": "to install", "permissions": requested });
        let (question, form) = asked(PERMISSIONS, &params, &StartedItems::default()).expect("a question");
        assert_eq!(question.action.kind, QuestionKind::Permissions);
        assert_eq!(question.action.arguments, Some(requested.clone()));
        assert_eq!((question.check(), question.reason.as_deref()), (Ok(()), Some("to install")));
        assert_eq!(form.reply(Some("accept"), None), json!({ "permissions": requested, "scope": "turn" }));
        for option in [None, Some("decline"), Some("acceptForSession")] {
            assert_eq!(form.reply(option, None), json!({ "permissions": {}, "scope": "turn" }), "{option:?}");
        }
        assert_eq!(asked(PERMISSIONS, &json!({ "permissions": "all" }), &StartedItems::default()), None);
    }

    #[test]
    fn call_of_an_mcp_tool_is_never_remembered_by_codex() {
        let arguments = json!({ "a": 1 });
        let mut started = StartedItems::default();
        let item =
            json!({ "type": "mcpToolCall", "id": "i", "server": "s", "tool": "add", "arguments": arguments });
        started.track("item/started", &json!({ "item": item }));
        let meta = json!({ "codex_approval_kind": "mcp_tool_call", "tool_params": arguments, "persist": ["always"] });
        let mut params = json!({ "serverName": "s", "mode": "form", "message": "m", "_meta": meta });
        let (question, form) = asked(ELICITATION, &params, &started).expect("a question");
        assert_eq!((question.action.tool.as_str(), question.action.kind), ("s/add", QuestionKind::McpTool));
        assert_eq!(call_of(ELICITATION, &params, &started).as_deref(), Some("i"));
        assert_eq!(form.reply(Some("accept"), None), json!({ "action": "accept" }));
        params["_meta"]["codex_approval_kind"] = json!("something_new");
        assert_eq!(asked(ELICITATION, &params, &started), None, "an unknown kind");
        started.track("item/completed", &json!({ "item": { "id": "i" } }));
        params["_meta"] = meta;
        assert_eq!(asked(ELICITATION, &params, &started), None, "no call is open");
    }

    #[test]
    fn other_requests_are_not_asked_and_only_accept_allows() {
        for method in ["execCommandApproval", "item/tool/call", "new/power"] {
            assert_eq!(asked(method, &json!({}), &StartedItems::default()), None);
        }
        for option in [None, Some("decline"), Some("acceptForSession"), Some("Accept")] {
            assert_eq!(
                ReplyForm::Decision.reply(option, None),
                json!({ "decision": "decline" }),
                "{option:?}"
            );
        }
        assert_eq!(ReplyForm::Decision.reply(Some("accept"), None), json!({ "decision": "accept" }));
    }
}
