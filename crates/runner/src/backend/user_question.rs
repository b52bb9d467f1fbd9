//! Questions of an agent to the user: each has a text, and often choices. They become the fields of a form.

use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::approvals::question::{Action, AnswerOption, Question, QuestionKind};
use serde_json::{Map, Value, json};

use super::question::empty_action;

/// One question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserQuestion {
    /// The agent's key of the answer.
    pub(super) key: String,
    pub(super) header: String,
    pub(super) text: String,
    /// Labels and descriptions; empty for a free text.
    pub(super) choices: Vec<(String, String)>,
    pub(super) answer: AnswerKind,
    pub(super) is_secret: bool,
}

/// What answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerKind {
    /// Any text. The choices are suggestions.
    Text,
    OneChoice,
    SeveralChoices,
}

impl UserQuestion {
    /// Reads the choices of a question: objects with a label and a description.
    pub(super) fn choices(options: &Value) -> Option<Vec<(String, String)>> {
        let text = |option: &Value, name: &str| option[name].as_str().map(str::to_owned);
        let choice =
            |option: &Value| Some((text(option, "label")?, text(option, "description").unwrap_or_default()));
        if options.is_null() {
            return Some(Vec::new());
        }
        options.as_array()?.iter().map(choice).collect()
    }

    fn schema(&self) -> Value {
        let described = |(label, description): &(String, String)| match description.as_str() {
            "" => label.clone(),
            description => format!("{label}: {description}"),
        };
        let lines = std::iter::once(self.text.clone()).chain(self.choices.iter().map(described));
        let labels: Vec<&String> = self.choices.iter().map(|(label, _)| label).collect();
        let mut schema = match self.answer {
            AnswerKind::Text => json!({ "type": "string", "minLength": 1, "examples": labels }),
            AnswerKind::OneChoice => json!({ "type": "string", "enum": labels }),
            AnswerKind::SeveralChoices => {
                json!({ "type": "array", "items": { "type": "string", "enum": labels }, "minItems": 1 })
            }
        };
        schema["title"] = json!(self.header);
        schema["description"] = json!(lines.collect::<Vec<_>>().join("\n"));
        if self.is_secret {
            schema["writeOnly"] = json!(true);
        }
        schema
    }
}

/// Returns the question with a form of all answers. `asked` is what the agent asks, whole: it is the same question only if
/// nothing of it differs.
pub(super) fn question(
    tool: &str,
    asked: &Value,
    questions: &[UserQuestion],
    options: Vec<AnswerOption>,
) -> Option<Question> {
    let properties: Map<String, Value> =
        questions.iter().map(|question| (question.key.clone(), question.schema())).collect();
    if properties.len() != questions.len() {
        return None;
    }
    let required: Vec<&String> = questions.iter().map(|question| &question.key).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let action = Action {
        arguments: Some(json!({ "questions": asked })),
        ..empty_action(QuestionKind::Question, tool)
    };
    let question = Question { action, options, reason: None, answer_schema: Some(schema) };
    question.check().is_ok().then_some(question)
}

/// Returns the answers by their keys, each as a list of texts.
pub(super) fn answers(content: AnswerContent) -> impl Iterator<Item = (String, Vec<String>)> {
    content.into_values().into_iter().map(|(key, value)| {
        let texts = match value {
            Value::Array(values) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Value::String(text) => vec![text],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        };
        (key, texts)
    })
}
