//! The question of an agent in an interrupt.

use guildhall_domain::approvals::digest::ShownDigest;
use guildhall_domain::approvals::question::{
    AnswerOption, OptionEffect, Question, QuestionKind, arguments_text,
};
use serde_json::{Map, Value, json};

use super::event::{Interrupt, without_nulls};

/// Characters of the arguments in a message. The metadata has them whole.
const MAX_MESSAGE_CHARS: usize = 2_000;

impl Interrupt {
    /// Adds what is asked: words for a person, the schema of the answer, and the whole question as metadata.
    pub fn describe(&mut self, question: &Question, shown: &ShownDigest) {
        self.message = message(question);
        self.response_schema = response_schema(question);
        self.metadata = Some(without_nulls(json!({
            "kind": question.action.kind, "tool": question.action.tool, "arguments": question.action.arguments,
            "workingDir": question.action.working_dir, "environment": question.action.environment,
            "lifts": question.action.lifts, "changes": question.action.changes, "reason": question.reason,
            "options": question.options, "shownDigest": shown.to_string(),
        })));
    }
}

/// Returns the words of the question. What the agent says itself comes last.
fn message(question: &Question) -> String {
    let action = &question.action;
    let asked = match action.kind {
        QuestionKind::Command => "Allow this command?".to_owned(),
        QuestionKind::FileChange => "Allow these changes?".to_owned(),
        QuestionKind::Permissions => "Give the agent more permissions?".to_owned(),
        QuestionKind::McpTool | QuestionKind::ToolCall => format!("Allow the tool {}?", action.tool),
        QuestionKind::Plan => "Accept the plan of the agent?".to_owned(),
        QuestionKind::Question | QuestionKind::ElicitationForm => "The agent has a question.".to_owned(),
        QuestionKind::ElicitationUrl => "The agent asks you to open a link.".to_owned(),
    };
    let arguments = action.arguments.as_ref().map(arguments_text);
    let paths: Vec<&str> = action.changes.iter().map(|change| change.path.as_str()).collect();
    let paths = (!paths.is_empty()).then(|| paths.join("\n"));
    let said = question.reason.as_ref().map(|reason| format!("The agent says: {reason}"));
    let parts = [Some(asked), arguments, paths, said];
    parts.into_iter().flatten().map(|part| shorten(&part)).collect::<Vec<_>>().join("\n\n")
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the JSON schema of the payload that answers a question.
fn response_schema(question: &Question) -> Value {
    let option = |option: &AnswerOption| json!({ "const": option.id, "title": option.label });
    let options: Vec<Value> = question.options.iter().map(option).collect();
    let mut properties = Map::new();
    properties.insert("approved".to_owned(), json!({ "type": "boolean" }));
    properties.insert("optionId".to_owned(), json!({ "type": "string", "oneOf": options }));
    if let Some(schema) = &question.answer_schema {
        properties.insert("content".to_owned(), schema.clone());
    }
    let allowing = question.options.iter().filter(|option| option.effect == OptionEffect::Allow).count();
    let mut schema = json!({ "type": "object", "properties": properties });
    if question.answer_schema.is_none() && allowing == 1 {
        schema["required"] = json!(["approved"]);
    }
    without_nulls(schema)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use guildhall_domain::approvals::question::Action;

    use super::*;
    use crate::agui::event::InterruptReason;

    fn question(command: &str) -> Question {
        let option = |id: &str, effect| AnswerOption {
            id: id.to_owned(),
            label: format!("label of {id}"),
            effect,
            changes_mode: false,
        };
        Question {
            action: Action {
                kind: QuestionKind::Command,
                tool: "shell".to_owned(),
                arguments: Some(json!({ "command": command })),
                working_dir: Some("/work".to_owned()),
                environment: None,
                lifts: BTreeSet::new(),
                changes: Vec::new(),
            },
            options: vec![option("yes", OptionEffect::Allow), option("no", OptionEffect::Deny)],
            reason: Some("it is old".to_owned()),
            answer_schema: None,
        }
    }

    fn described(question: &Question) -> Value {
        let mut interrupt = Interrupt {
            id: "apr_1".to_owned(),
            reason: InterruptReason::ToolCall,
            message: String::new(),
            tool_call_id: None,
            response_schema: Value::Null,
            expires_at: None,
            metadata: None,
        };
        interrupt.describe(question, &question.shown_digest());
        json!(interrupt)
    }

    #[test]
    fn interrupt_has_the_whole_question() {
        let question = question("rm -r build");
        let expected = json!({
            "id": "apr_1", "reason": "tool_call",
            "message": "Allow this command?\n\nrm -r build\n\nThe agent says: it is old",
            "responseSchema": {
                "type": "object", "required": ["approved"],
                "properties": {
                    "approved": { "type": "boolean" },
                    "optionId": { "type": "string", "oneOf": [
                        { "const": "yes", "title": "label of yes" }, { "const": "no", "title": "label of no" },
                    ] },
                },
            },
            "metadata": {
                "kind": "command", "tool": "shell", "arguments": { "command": "rm -r build" },
                "workingDir": "/work", "lifts": [], "changes": [], "reason": "it is old",
                "options": [
                    { "id": "yes", "label": "label of yes", "effect": "allow", "changesMode": false },
                    { "id": "no", "label": "label of no", "effect": "deny", "changesMode": false },
                ],
                "shownDigest": question.shown_digest().to_string(),
            },
        });
        assert_eq!(described(&question), expected);
    }

    #[test]
    fn long_arguments_are_whole_in_the_metadata_only() {
        let command = "é".repeat(MAX_MESSAGE_CHARS + 1);
        let interrupt = described(&question(&command));
        assert_eq!(interrupt["metadata"]["arguments"]["command"], command.as_str());
        let message = interrupt["message"].as_str().expect("a message");
        assert!(
            message.contains(&format!("{}…", "é".repeat(MAX_MESSAGE_CHARS))) && !message.contains(&command)
        );
    }

    #[test]
    fn form_of_the_agent_is_the_schema_of_the_values() {
        let mut question = question("ask");
        question.action.kind = QuestionKind::ElicitationForm;
        let form = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
        question.answer_schema = Some(form.clone());
        let schema = described(&question)["responseSchema"].clone();
        assert_eq!(schema["properties"]["content"], form);
        assert_eq!(schema.get("required"), None);
    }
}
