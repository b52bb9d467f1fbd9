//! The requests of Codex as questions to people.
//!
//! Codex is answered with `accept` or `decline`, which last once: never with an amendment of its rules, which would hold for
//! every later process.

use std::collections::BTreeSet;

use guildhall_domain::approvals::question::{
    Action, AnswerOption, FileChange, OptionEffect, Question, QuestionKind,
};
use guildhall_domain::runs::policy::Sandbox;
use serde::Deserialize;
use serde_json::{Value, json};

const COMMAND: &str = "item/commandExecution/requestApproval";
const FILE_CHANGE: &str = "item/fileChange/requestApproval";

/// What Codex runs without its own sandbox once it is accepted. The sandbox of the runner stays.
const CODEX_SANDBOX: &str = "sandbox of codex";

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

/// Returns the question of a request; none for one that people are not asked about.
pub(super) fn of_request(
    method: &str,
    params: &Value,
    sandbox: Sandbox,
    changes_of: impl Fn(&str) -> Vec<FileChange>,
) -> Option<Question> {
    let (action, reason) = match method {
        COMMAND => {
            let request = CommandRequest::deserialize(params).ok()?;
            let action = Action {
                arguments: Some(json!({ "command": request.command })),
                working_dir: request.cwd,
                environment: request.environment_id,
                ..action(QuestionKind::Command, "shell", sandbox)
            };
            (action, request.reason)
        }
        FILE_CHANGE => {
            let request = FileChangeRequest::deserialize(params).ok()?;
            let mut action = action(QuestionKind::FileChange, "apply_patch", sandbox);
            action.changes = changes_of(&request.item_id);
            action.lifts.extend(request.grant_root.map(|root| format!("write access to {root}")));
            (action, request.reason)
        }
        _ => return None,
    };
    Some(Question { action, options: options(), reason, answer_schema: None })
}

fn action(kind: QuestionKind, tool: &str, sandbox: Sandbox) -> Action {
    let lifts = match sandbox {
        Sandbox::ReadOnly | Sandbox::WorkspaceWrite => BTreeSet::from([CODEX_SANDBOX.to_owned()]),
        Sandbox::DangerFullAccess => BTreeSet::new(),
    };
    Action {
        kind,
        tool: tool.to_owned(),
        arguments: None,
        working_dir: None,
        environment: None,
        lifts,
        changes: Vec::new(),
    }
}

fn options() -> Vec<AnswerOption> {
    let option = |id: &str, label: &str, effect| AnswerOption {
        id: id.to_owned(),
        label: label.to_owned(),
        effect,
        changes_mode: false,
    };
    vec![option("accept", "Allow once", OptionEffect::Allow), option("decline", "Deny", OptionEffect::Deny)]
}

/// Returns the reply for a chosen option; anything but the option that allows declines.
pub(super) fn reply(option: Option<&str>) -> Value {
    json!({ "decision": if option == Some("accept") { "accept" } else { "decline" } })
}

/// Returns the id and the changes of a started item that changes files.
pub(super) fn started_changes(params: &Value) -> Option<(String, Vec<FileChange>)> {
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

    #[test]
    fn command_is_asked_whole_with_its_directory() {
        let command = format!("{}; rm -rf ~", "echo x; ".repeat(512));
        let params = json!({ "command": command, "cwd": "/work", "reason": "please", "itemId": "i" });
        let question = of_request(COMMAND, &params, Sandbox::WorkspaceWrite, |_| Vec::new());
        let question = question.expect("a question");
        assert_eq!(question.action.arguments, Some(json!({ "command": command })));
        assert_eq!(question.action.working_dir.as_deref(), Some("/work"));
        assert_eq!(question.action.lifts, BTreeSet::from([CODEX_SANDBOX.to_owned()]));
        assert_eq!(question.check(), Ok(()));
    }

    #[test]
    fn file_change_is_asked_with_the_diff_of_its_item() {
        let started = json!({ "item": { "type": "fileChange", "id": "i", "changes": [
            { "path": "a", "kind": { "type": "add" }, "diff": "+one" },
        ] } });
        let (id, changes) = started_changes(&started).expect("changes");
        let expected = vec![FileChange { path: "a".to_owned(), text: "add\n+one".to_owned() }];
        assert_eq!((id.as_str(), &changes), ("i", &expected));
        let params = json!({ "itemId": "i", "reason": null, "grantRoot": "/etc" });
        let question = of_request(FILE_CHANGE, &params, Sandbox::DangerFullAccess, |_| changes.clone());
        let action = question.expect("a question").action;
        assert_eq!((action.changes, action.lifts), (expected, ["write access to /etc".to_owned()].into()));
    }

    #[test]
    fn other_requests_are_not_asked_and_only_accept_allows() {
        for method in ["item/permissions/requestApproval", "execCommandApproval"] {
            assert_eq!(of_request(method, &json!({}), Sandbox::ReadOnly, |_| Vec::new()), None);
        }
        for option in [None, Some("decline"), Some("acceptForSession"), Some("Accept")] {
            assert_eq!(reply(option), json!({ "decision": "decline" }), "{option:?}");
        }
        assert_eq!(reply(Some("accept")), json!({ "decision": "accept" }));
    }
}
