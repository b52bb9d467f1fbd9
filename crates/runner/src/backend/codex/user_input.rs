//! Questions of Codex to the user.

use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::approvals::question::{OptionEffect, Question};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::backend::question::answer_option;
use crate::backend::user_question::{self, AnswerKind, UserQuestion};

/// The option that gives the answers.
const ANSWER: &str = "answer";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserInputRequest {
    questions: Vec<UserInputQuestion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserInputQuestion {
    id: String,
    header: String,
    question: String,
    #[serde(default)]
    is_other: bool,
    #[serde(default)]
    is_secret: bool,
    #[serde(default)]
    options: Value,
}

impl UserInputQuestion {
    fn into_question(self) -> Option<UserQuestion> {
        let choices = UserQuestion::choices(&self.options)?;
        let answer =
            if self.is_other || choices.is_empty() { AnswerKind::Text } else { AnswerKind::OneChoice };
        let (header, text) = (self.header, self.question);
        Some(UserQuestion { key: self.id, header, text, choices, answer, is_secret: self.is_secret })
    }
}

/// Returns the question of a request; none for one that cannot be asked.
pub(super) fn question(params: &Value) -> Option<Question> {
    let request = UserInputRequest::deserialize(params).ok()?;
    let questions: Option<Vec<_>> =
        request.questions.into_iter().map(UserInputQuestion::into_question).collect();
    let options = vec![
        answer_option(ANSWER, "Answer", OptionEffect::Answer),
        answer_option("decline", "Do not answer", OptionEffect::Deny),
    ];
    user_question::question("request_user_input", &params["questions"], &questions?, options)
}

/// Returns the reply: the answers, or none.
pub(super) fn reply(option: Option<&str>, content: Option<AnswerContent>) -> Value {
    let content = content.filter(|_| option == Some(ANSWER)).unwrap_or_default();
    let answers: Map<String, Value> =
        user_question::answers(content).map(|(id, texts)| (id, json!({ "answers": texts }))).collect();
    json!({ "answers": answers })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Codex 0.166.0 sends it.
    fn params() -> Value {
        json!({
            "threadId": "t", "turnId": "u", "itemId": "c1", "isBlocking": false, "autoResolutionMs": null,
            "questions": [
                {
                    "id": "colour", "header": "Colour", "question": "Which colour?", "isOther": true, "isSecret": false,
                    "options": [{ "label": "Blue", "description": "like the sky" }, { "label": "Red", "description": "" }],
                },
                { "id": "size", "header": "Size", "question": "Which?", "options": [{ "label": "S", "description": "" }] },
                { "id": "key", "header": "Key", "question": "Which key?", "isSecret": true, "options": null },
            ],
        })
    }

    #[test]
    fn questions_become_the_fields_of_a_form() {
        let question = question(&params()).expect("a question");
        assert_eq!(question.action.arguments, Some(json!({ "questions": params()["questions"] })));
        let expected = json!({
            "colour": {
                "type": "string", "minLength": 1, "title": "Colour", "examples": ["Blue", "Red"],
                "description": "Which colour?\nBlue: like the sky\nRed",
            },
            "key": {
                "type": "string", "minLength": 1, "title": "Key", "examples": [], "description": "Which key?",
                "writeOnly": true,
            },
            "size": { "type": "string", "enum": ["S"], "title": "Size", "description": "Which?\nS" },
        });
        assert_eq!(question.answer_schema.as_ref().map(|schema| &schema["properties"]), Some(&expected));
        let form = question.form().expect("valid").expect("a form");
        assert!(form.field("key").is_some_and(|field| field.is_secret));
        assert!(form.fields().iter().all(|field| field.is_required));
    }

    #[test]
    fn reply_has_a_list_for_each_answer_and_nothing_if_denied() {
        let content: AnswerContent =
            serde_json::from_value(json!({ "colour": "Green", "size": "S" })).expect("values");
        let expected =
            json!({ "answers": { "colour": { "answers": ["Green"] }, "size": { "answers": ["S"] } } });
        assert_eq!(reply(Some("answer"), Some(content.clone())), expected);
        for option in [None, Some("decline")] {
            assert_eq!(reply(option, Some(content.clone())), json!({ "answers": {} }), "{option:?}");
        }
    }

    #[test]
    fn questions_that_cannot_be_told_apart_are_not_asked() {
        let mut same = params();
        same["questions"][1]["id"] = json!("colour");
        let mut odd = params();
        odd["questions"][0]["options"] = json!(["Blue"]);
        for params in [same, odd, json!({ "questions": [] }), json!({})] {
            assert_eq!(question(&params), None, "{params}");
        }
    }
}
