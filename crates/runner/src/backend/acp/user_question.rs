//! Questions of Qwen Code to the user: permission requests whose answers are beside the outcome.

use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::approvals::question::{OptionEffect, Question};
use serde_json::{Map, Value, json};

use super::permission::{is_user_question, only_option};
use crate::backend::question::answer_option;
use crate::backend::user_question::{self, AnswerKind, UserQuestion};

/// The option that does not answer, where the agent offers none.
const CANCELLED: &str = "cancelled";

/// Returns the question of a permission request; none for another request, or for one that cannot be asked.
pub(super) fn question(request: &Value) -> Option<Question> {
    if !is_user_question(request) {
        return None;
    }
    let meta = [&request["toolCall"]["_meta"]["qwenQuestions"], &request["_meta"]["qwenQuestions"]];
    let asked = meta.into_iter().chain([&request["toolCall"]["rawInput"]["questions"]]);
    let asked = asked.into_iter().find(|questions| questions.is_array())?;
    let questions: Option<Vec<UserQuestion>> =
        asked.as_array()?.iter().enumerate().map(one_question).collect();
    let answer = only_option(&request["options"], "allow_once")?;
    let deny = only_option(&request["options"], "reject_once").unwrap_or(CANCELLED);
    let options = vec![
        answer_option(answer, "Answer", OptionEffect::Answer),
        answer_option(deny, "Do not answer", OptionEffect::Deny),
    ];
    user_question::question("ask_user_question", asked, &questions?, options)
}

/// The key of an answer is the number of its question. A text that is not one of the choices is an answer too.
fn one_question((index, question): (usize, &Value)) -> Option<UserQuestion> {
    let choices = UserQuestion::choices(&question["options"])?;
    let is_multiple = question["multiSelect"] == true && !choices.is_empty();
    Some(UserQuestion {
        key: index.to_string(),
        header: question["header"].as_str().unwrap_or_default().to_owned(),
        text: question["question"].as_str()?.to_owned(),
        choices,
        answer: if is_multiple { AnswerKind::SeveralChoices } else { AnswerKind::Text },
        is_secret: false,
    })
}

/// Returns the response with the answers; none without the option that answers, or without values.
pub(super) fn reply(request: &Value, option: Option<&str>, content: Option<AnswerContent>) -> Option<Value> {
    let answer = only_option(&request["options"], "allow_once").filter(|answer| option == Some(*answer))?;
    let answers: Map<String, Value> =
        user_question::answers(content?).map(|(key, texts)| (key, json!(texts.join(", ")))).collect();
    Some(json!({ "outcome": { "outcome": "selected", "optionId": answer }, "answers": answers }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Qwen Code 0.24.4 sends it.
    fn request() -> Value {
        let questions = json!([
            {
                "question": "Which colour?", "header": "Colour", "multiSelect": false,
                "options": [{ "label": "Blue", "description": "b" }, { "label": "Red", "description": "r" }],
            },
            {
                "question": "Which parts?", "header": "Parts", "multiSelect": true,
                "options": [{ "label": "A", "description": "" }, { "label": "B", "description": "" }],
            },
        ]);
        json!({
            "sessionId": "s",
            "toolCall": {
                "toolCallId": "c", "title": "Ask user 2 questions", "kind": "think",
                "rawInput": { "questions": questions },
                "_meta": {
                    "toolName": "ask_user_question", "qwenInteractionKind": "user_question", "qwenQuestions": questions,
                },
            },
            "options": [
                { "optionId": "proceed_once", "name": "Submit", "kind": "allow_once" },
                { "optionId": "cancel", "name": "Cancel", "kind": "reject_once" },
            ],
        })
    }

    #[test]
    fn questions_become_a_form_whose_keys_are_their_numbers() {
        let question = question(&request()).expect("a question");
        let options = question.options.iter().map(|option| (option.id.as_str(), option.effect));
        let expected = [("proceed_once", OptionEffect::Answer), ("cancel", OptionEffect::Deny)];
        assert_eq!(options.collect::<Vec<_>>(), expected);
        let schema = question.answer_schema.expect("a schema");
        assert_eq!(schema["properties"]["0"]["examples"], json!(["Blue", "Red"]));
        assert_eq!(schema["properties"]["1"]["items"]["enum"], json!(["A", "B"]));
    }

    #[test]
    fn answers_are_beside_the_outcome_and_a_denial_has_none() {
        let content = || serde_json::from_value(json!({ "0": "Green", "1": ["A", "B"] })).ok();
        let expected = json!({
            "outcome": { "outcome": "selected", "optionId": "proceed_once" }, "answers": { "0": "Green", "1": "A, B" },
        });
        assert_eq!(reply(&request(), Some("proceed_once"), content()), Some(expected));
        assert_eq!(reply(&request(), Some("cancel"), content()), None);
        assert_eq!(
            reply(&request(), Some("proceed_once"), None),
            None,
            "an answer without values means nothing"
        );
    }

    #[test]
    fn ambiguous_options_and_other_requests_are_not_asked() {
        let mut two = request();
        two["options"][1]["kind"] = json!("allow_once");
        assert_eq!(question(&two), None);
        let mut other = request();
        other["toolCall"]["_meta"] = json!({});
        assert_eq!(question(&other), None);
        let mut empty = request();
        empty["toolCall"]["_meta"]["qwenQuestions"] = json!([]);
        assert_eq!(question(&empty), None);
    }
}
