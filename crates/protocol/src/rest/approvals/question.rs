//! A question of an agent.

use guildhall_domain::approvals::question::{
    Action, AnswerOption, FileChange, OptionEffect, Question, QuestionKind,
};
use guildhall_domain::named_enum::UnknownName;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A question with everything that is shown to those who answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuestionBody {
    pub action: ActionBody,
    #[schema(max_items = 32)]
    pub options: Vec<OptionBody>,
    /// The words of the agent.
    #[serde(default)]
    pub reason: Option<String>,
    /// For questions with an option of the effect answer: the JSON schema of its values, in the form that MCP allows for
    /// elicitation. `writeOnly` marks a secret, and `examples` suggests texts.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub answer_schema: Option<Value>,
}

/// What would be executed, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionBody {
    /// command, file_change, permissions, mcp_tool, tool_call, plan, question, elicitation_form or elicitation_url.
    #[schema(example = "command")]
    pub kind: String,
    #[schema(example = "shell")]
    pub tool: String,
    /// Null if the agent does not give them.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<Value>,
    #[serde(default)]
    pub working_dir: Option<String>,
    /// The environment of the agent that it runs in.
    #[serde(default)]
    pub environment: Option<String>,
    /// What an allowance lifts, such as `sandbox`.
    #[serde(default)]
    pub lifts: Vec<String>,
    #[serde(default)]
    pub changes: Vec<FileChangeBody>,
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileChangeBody {
    pub path: String,
    /// The diff, or the new text.
    pub text: String,
}

/// An option of an answer. It lasts once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OptionBody {
    #[schema(example = "accept")]
    pub id: String,
    pub label: String,
    /// allow, deny or answer.
    #[schema(example = "allow")]
    pub effect: String,
    /// Whether it also changes the mode of the agent's session.
    #[serde(default)]
    pub changes_mode: bool,
}

impl From<Question> for QuestionBody {
    fn from(question: Question) -> Self {
        Self {
            action: question.action.into(),
            options: question.options.into_iter().map(OptionBody::from).collect(),
            reason: question.reason,
            answer_schema: question.answer_schema,
        }
    }
}

impl From<Action> for ActionBody {
    fn from(action: Action) -> Self {
        let change = |change: FileChange| FileChangeBody { path: change.path, text: change.text };
        Self {
            kind: action.kind.to_string(),
            tool: action.tool,
            arguments: action.arguments,
            working_dir: action.working_dir,
            environment: action.environment,
            lifts: action.lifts.into_iter().collect(),
            changes: action.changes.into_iter().map(change).collect(),
        }
    }
}

impl From<AnswerOption> for OptionBody {
    fn from(option: AnswerOption) -> Self {
        Self {
            id: option.id,
            label: option.label,
            effect: option.effect.to_string(),
            changes_mode: option.changes_mode,
        }
    }
}

impl TryFrom<QuestionBody> for Question {
    type Error = UnknownName;

    fn try_from(body: QuestionBody) -> Result<Self, UnknownName> {
        let option = |option: OptionBody| {
            Ok(AnswerOption {
                effect: OptionEffect::from_name(&option.effect)?,
                id: option.id,
                label: option.label,
                changes_mode: option.changes_mode,
            })
        };
        let change = |change: FileChangeBody| FileChange { path: change.path, text: change.text };
        let action = body.action;
        Ok(Self {
            action: Action {
                kind: QuestionKind::from_name(&action.kind)?,
                tool: action.tool,
                arguments: action.arguments,
                working_dir: action.working_dir,
                environment: action.environment,
                lifts: action.lifts.into_iter().collect(),
                changes: action.changes.into_iter().map(change).collect(),
            },
            options: body.options.into_iter().map(option).collect::<Result<_, UnknownName>>()?,
            reason: body.reason,
            answer_schema: body.answer_schema,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn question_is_the_same_on_the_wire_and_in_the_domain() {
        let json = json!({
            "action": {
                "kind": "file_change", "tool": "apply_patch", "arguments": null, "workingDir": "/work",
                "environment": "local", "lifts": ["sandbox"], "changes": [{ "path": "a", "text": "+1" }],
            },
            "options": [{ "id": "no", "label": "Deny", "effect": "deny", "changesMode": false }],
            "reason": "because", "answerSchema": { "type": "object" },
        });
        let body: QuestionBody = serde_json::from_value(json.clone()).expect("a body");
        let question = Question::try_from(body).expect("a question");
        assert_eq!(json!(question), json);
        assert_eq!(json!(QuestionBody::from(question)), json);
    }

    #[test]
    fn unknown_kind_and_effect_are_rejected() {
        let body = |kind: &str, effect: &str| {
            let json = json!({
                "action": { "kind": kind, "tool": "t" }, "options": [{ "id": "x", "label": "x", "effect": effect }],
            });
            Question::try_from(serde_json::from_value::<QuestionBody>(json).expect("a body"))
        };
        assert!(body("command", "allow").is_ok());
        assert!(body("anything", "allow").is_err() && body("command", "always").is_err());
    }
}
