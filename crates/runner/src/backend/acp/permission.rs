//! Decides the permission requests of an agent.
//!
//! An agent chooses the ids and names of its options; only their kinds are defined by the protocol. A kind is granted only
//! if it is unambiguous. Permission is granted once at most: an agent that remembers it would not ask in the next turn,
//! under another policy.

use guildhall_domain::runs::policy::Approval;
use serde_json::{Value, json};

/// The kind of tools that change the mode of the whole session, such as from planning to editing.
const MODE_KIND: &str = "switch_mode";

/// Tools of Qwen Code and of Claude Code that change the mode.
const MODE_TOOLS: [&str; 4] = ["enter_plan_mode", "exit_plan_mode", "EnterPlanMode", "ExitPlanMode"];

/// Tools of Qwen Code and of Claude Code that ask the user a question.
const QUESTION_TOOLS: [&str; 2] = ["ask_user_question", "AskUserQuestion"];

/// What Qwen Code calls a question to the user.
const USER_QUESTION: &str = "user_question";

/// The decision on a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PermissionDecision {
    Granted,
    Declined,
}

/// Returns the response to a permission request, and its decision.
pub(super) fn decide(approval: Approval, request: &Value, is_stopping: bool) -> (Value, PermissionDecision) {
    let options = &request["options"];
    let granted = match approval {
        // The run needs no approvals: its sandbox limits what it can do.
        Approval::Never if !needs_human(request) => only_option(options, "allow_once"),
        Approval::Never | Approval::OnRequest | Approval::Untrusted => None,
    };
    let selected = |id: &str| json!({ "outcome": { "outcome": "selected", "optionId": id } });
    let cancelled = || json!({ "outcome": { "outcome": "cancelled" } });
    match granted {
        _ if is_stopping => (cancelled(), PermissionDecision::Declined),
        Some(id) => (selected(id), PermissionDecision::Granted),
        None => {
            let rejected = only_option(options, "reject_once").map_or_else(cancelled, selected);
            (rejected, PermissionDecision::Declined)
        }
    }
}

/// Returns the response that chooses an option of the request; a denial for anything else.
pub(super) fn choose(
    request: &Value,
    option: Option<&str>,
    is_stopping: bool,
) -> (Value, PermissionDecision) {
    let options = request["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let chosen = option.filter(|_| !is_stopping).and_then(|id| {
        let chosen = options.iter().find(|found| found["optionId"] == id)?;
        (chosen["kind"] == "allow_once").then_some(id)
    });
    match chosen {
        Some(id) => {
            (json!({ "outcome": { "outcome": "selected", "optionId": id } }), PermissionDecision::Granted)
        }
        None => decide(Approval::OnRequest, request, is_stopping),
    }
}

/// Returns whether only a person can answer: a change of the mode outlasts the action, and a question needs an answer.
fn needs_human(request: &Value) -> bool {
    changes_mode(request) || is_user_question(request)
}

/// Returns whether an allowance changes the mode of the whole session.
pub(super) fn changes_mode(request: &Value) -> bool {
    request["toolCall"]["kind"] == MODE_KIND || tool_names(request).any(|name| MODE_TOOLS.contains(&name))
}

/// Returns whether it is a question to the user: an allowance without an answer would mean nothing.
pub(super) fn is_user_question(request: &Value) -> bool {
    let is_question = |meta: &Value| meta["qwenInteractionKind"] == USER_QUESTION;
    is_question(&request["_meta"])
        || is_question(&request["toolCall"]["_meta"])
        || tool_names(request).any(|name| QUESTION_TOOLS.contains(&name))
}

/// Returns the agent's name of the tool, where it gives one.
pub(super) fn tool_name(request: &Value) -> &str {
    tool_names(request).next().unwrap_or_default()
}

/// Returns all names that the agent gives: an agent that gives two must not choose the harmless one.
fn tool_names(request: &Value) -> impl Iterator<Item = &str> {
    let tool = &request["toolCall"];
    let names = [&tool["_meta"]["toolName"], &tool["name"], &tool["_meta"]["claudeCode"]["toolName"]];
    names.into_iter().filter_map(Value::as_str)
}

/// Returns the id of the only option of a kind; none if there are several, or if another option has the same id.
pub(super) fn only_option<'a>(options: &'a Value, kind: &str) -> Option<&'a str> {
    let options = options.as_array()?;
    let mut of_kind = options.iter().filter(|option| option["kind"] == kind);
    let (Some(option), None) = (of_kind.next(), of_kind.next()) else { return None };
    let id = option["optionId"].as_str()?;
    (options.iter().filter(|other| other["optionId"] == id).count() == 1).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(options: Value) -> Value {
        json!({ "toolCall": { "kind": "execute" }, "options": options })
    }

    fn options() -> Value {
        json!([
            { "optionId": "a", "name": "Always", "kind": "allow_always" },
            { "optionId": "b", "name": "Reject", "kind": "allow_once" },
            { "optionId": "c", "name": "Allow", "kind": "reject_once" },
            { "optionId": "d", "name": "Allow", "kind": "reject_always" },
        ])
    }

    fn selected(id: &str) -> Value {
        json!({ "outcome": { "outcome": "selected", "optionId": id } })
    }

    fn cancelled() -> (Value, PermissionDecision) {
        (json!({ "outcome": { "outcome": "cancelled" } }), PermissionDecision::Declined)
    }

    #[test]
    fn option_is_selected_by_kind_and_not_by_name() {
        let granted = (selected("b"), PermissionDecision::Granted);
        assert_eq!(decide(Approval::Never, &request(options()), false), granted);
        for approval in [Approval::OnRequest, Approval::Untrusted] {
            let declined = (selected("c"), PermissionDecision::Declined);
            assert_eq!(decide(approval, &request(options()), false), declined);
        }
    }

    #[test]
    fn permission_is_declined_without_an_allow_once_option() {
        let always = json!([{ "optionId": "a", "name": "Always", "kind": "allow_always" }]);
        for options in
            [always, json!([]), Value::Null, json!("allow_once"), json!([{ "kind": "allow_once" }])]
        {
            assert_eq!(decide(Approval::Never, &request(options), false), cancelled());
        }
        assert_eq!(decide(Approval::Never, &request(options()), true), cancelled());
    }

    /// The attack: a plan has two options of the kind `allow_once`, and the first one changes the mode of the session.
    #[test]
    fn ambiguous_option_is_not_granted() {
        let option = |id: &str, kind: &str| json!({ "optionId": id, "name": id, "kind": kind });
        let plan =
            [option("restore", "allow_once"), option("once", "allow_once"), option("no", "reject_once")];
        let declined = (selected("no"), PermissionDecision::Declined);
        assert_eq!(decide(Approval::Never, &request(json!(plan)), false), declined);
        let same_id = [option("x", "allow_once"), option("x", "reject_once")];
        assert_eq!(decide(Approval::Never, &request(json!(same_id)), false), cancelled());
    }

    #[test]
    fn change_of_the_mode_and_question_to_the_user_need_a_person() {
        let mode = json!({ "kind": "switch_mode" });
        let plan = json!({ "kind": "other", "_meta": { "toolName": "exit_plan_mode" } });
        let question = json!({ "_meta": { "qwenInteractionKind": "user_question" } });
        let claude = json!({ "kind": "other", "name": "ExitPlanMode" });
        for tool in [mode, plan, claude, question.clone()] {
            let asked = json!({ "toolCall": tool, "options": options() });
            let declined = (selected("c"), PermissionDecision::Declined);
            assert_eq!(decide(Approval::Never, &asked, false), declined, "{asked}");
        }
        let mut asked = request(options());
        asked["_meta"] = question["_meta"].clone();
        assert_eq!(decide(Approval::Never, &asked, false).1, PermissionDecision::Declined);
    }
}
