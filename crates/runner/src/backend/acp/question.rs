//! The permission requests of an ACP agent as questions to people.
//!
//! Only options that last once are shown: "always" would be remembered by the agent, where nobody can revoke it.

use std::collections::BTreeSet;

use guildhall_domain::approvals::question::{
    Action, AnswerOption, FileChange, OptionEffect, Question, QuestionKind,
};
use serde_json::Value;

use super::permission::{changes_mode, is_user_question, tool_name};

/// The denial of a request that offers none.
const CANCELLED: &str = "cancelled";

/// The argument in which agents describe a call in their own words. It changes nothing of what is executed.
const DESCRIPTION: &str = "description";

/// Returns the question of a permission request; none for one that cannot be answered with an option.
pub(super) fn of_request(request: &Value) -> Option<Question> {
    if is_user_question(request) {
        return None;
    }
    let tool = &request["toolCall"];
    let text = |name: &str| tool[name].as_str().map(str::to_owned);
    let mut arguments = tool["rawInput"].as_object().cloned();
    let described = arguments.as_mut().and_then(|arguments| arguments.remove(DESCRIPTION));
    let description = described.as_ref().and_then(Value::as_str).map(str::to_owned);
    let mode = changes_mode(request);
    let kind = match tool["kind"].as_str() {
        _ if mode => QuestionKind::Plan,
        Some("execute") => QuestionKind::Command,
        Some("edit" | "delete" | "move") => QuestionKind::FileChange,
        Some(_) | None => QuestionKind::ToolCall,
    };
    let name = Some(tool_name(request)).filter(|name| !name.is_empty()).map(str::to_owned);
    let working_dir = arguments.as_mut().and_then(|arguments| arguments.remove("directory"));
    let question = Question {
        action: Action {
            kind,
            tool: name.or_else(|| text("kind")).unwrap_or_else(|| "tool".to_owned()),
            arguments: arguments.map(Value::Object),
            working_dir: working_dir.as_ref().and_then(Value::as_str).map(str::to_owned),
            environment: None,
            lifts: BTreeSet::new(),
            changes: changes(&tool["content"]),
        },
        options: options(&request["options"], mode),
        reason: description.or_else(|| text("title")),
        answer_schema: None,
    };
    question.check().is_ok().then_some(question)
}

/// Returns the options that last once.
fn options(options: &Value, changes_mode: bool) -> Vec<AnswerOption> {
    let option = |option: &Value| {
        let effect = match option["kind"].as_str()? {
            "allow_once" => OptionEffect::Allow,
            "reject_once" => OptionEffect::Deny,
            _ => return None,
        };
        Some(AnswerOption {
            id: option["optionId"].as_str()?.to_owned(),
            label: option["name"].as_str().unwrap_or_default().to_owned(),
            effect,
            changes_mode: changes_mode && effect == OptionEffect::Allow,
        })
    };
    let mut found: Vec<AnswerOption> =
        options.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(option).collect();
    if !found.iter().any(|option| option.effect == OptionEffect::Deny) {
        found.push(AnswerOption {
            id: CANCELLED.to_owned(),
            label: "Deny".to_owned(),
            effect: OptionEffect::Deny,
            changes_mode: false,
        });
    }
    found
}

/// Returns the changes of files in the content of a tool call.
fn changes(content: &Value) -> Vec<FileChange> {
    let change = |item: &Value| {
        if item["type"] != "diff" {
            return None;
        }
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        let (old, new) = (text("oldText"), text("newText"));
        let lines = |mark: &'static str, text: &str| {
            text.lines().map(|line| format!("{mark}{line}\n")).collect::<String>()
        };
        Some(FileChange { path: text("path").to_owned(), text: lines("-", old) + &lines("+", new) })
    };
    content.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request() -> Value {
        json!({
            "toolCall": {
                "kind": "execute", "title": "touch a", "_meta": { "toolName": "run_shell_command" },
                "rawInput": { "command": "touch a", "description": "Make a file", "directory": "/work" },
            },
            "options": [
                { "optionId": "always", "name": "Always", "kind": "allow_always" },
                { "optionId": "once", "name": "Yes", "kind": "allow_once" },
                { "optionId": "no", "name": "No", "kind": "reject_once" },
            ],
        })
    }

    #[test]
    fn only_options_that_last_once_are_shown() {
        let question = of_request(&request()).expect("a question");
        let ids: Vec<&str> = question.options.iter().map(|option| option.id.as_str()).collect();
        assert_eq!(ids, ["once", "no"]);
        assert_eq!(question.action.working_dir.as_deref(), Some("/work"));
        assert_eq!(question.action.arguments, Some(json!({ "command": "touch a" })));
        assert_eq!(question.reason.as_deref(), Some("Make a file"));
    }

    #[test]
    fn reworded_description_is_the_same_action_and_another_directory_is_not() {
        let digest = |change: fn(&mut Value)| {
            let mut changed = request();
            change(&mut changed["toolCall"]["rawInput"]);
            of_request(&changed).and_then(|question| question.action.digest()).expect("a digest")
        };
        let original = digest(|_| {});
        assert_eq!(digest(|input| input["description"] = json!("Create it")), original);
        assert_ne!(digest(|input| input["directory"] = json!("/")), original);
        assert_ne!(digest(|input| input["command"] = json!("touch b")), original);
    }

    #[test]
    fn edit_is_asked_with_its_diff() {
        let mut edit = request();
        edit["toolCall"]["kind"] = json!("edit");
        edit["toolCall"]["content"] =
            json!([{ "type": "diff", "path": "a", "oldText": "one", "newText": "two\nthree" }]);
        let action = of_request(&edit).expect("a question").action;
        let expected = FileChange { path: "a".to_owned(), text: "-one\n+two\n+three\n".to_owned() };
        assert_eq!((action.kind, action.changes), (QuestionKind::FileChange, vec![expected]));
    }

    #[test]
    fn plan_changes_the_mode_and_a_user_question_is_not_asked() {
        let mut plan = request();
        plan["toolCall"]["kind"] = json!("switch_mode");
        let question = of_request(&plan).expect("a question");
        assert_eq!(question.action.kind, QuestionKind::Plan);
        assert!(question.options.iter().all(|option| option.changes_mode == (option.id == "once")));
        let mut asked = request();
        asked["_meta"] = json!({ "qwenInteractionKind": "user_question" });
        assert_eq!(of_request(&asked), None);
    }

    #[test]
    fn repeated_option_is_not_asked_and_a_missing_denial_is_added() {
        let mut repeated = request();
        repeated["options"][2]["optionId"] = json!("once");
        assert_eq!(of_request(&repeated), None);
        let mut without = request();
        without["options"] = json!([{ "optionId": "once", "name": "Yes", "kind": "allow_once" }]);
        let options = of_request(&without).expect("a question").options;
        assert_eq!(options.last().map(|option| option.id.as_str()), Some(CANCELLED));
    }
}
