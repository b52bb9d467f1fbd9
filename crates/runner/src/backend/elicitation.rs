//! Requests to a person in the form that MCP servers and ACP agents share: a link to open, or a form to fill in.

use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::approvals::link::link_host;
use guildhall_domain::approvals::question::{Action, OptionEffect, Question, QuestionKind};
use serde_json::{Value, json};

use super::question::{answer_option, empty_action};

const ACCEPT: &str = "accept";
const DECLINE: &str = "decline";

/// Returns the question of a request; none for one that nobody can be asked. `source` names who asks.
pub(super) fn question(source: &str, request: &Value) -> Option<Question> {
    let message = request["message"].as_str()?;
    let question = match request["mode"].as_str()? {
        "url" => link_question(source, message, request["url"].as_str()?)?,
        "form" => form_question(source, message, &request["requestedSchema"]),
        _ => return None,
    };
    question.check().is_ok().then_some(question)
}

/// Only the person can open the link: accepting says that they have.
fn link_question(source: &str, message: &str, link: &str) -> Option<Question> {
    let host = link_host(link)?;
    let action = Action {
        arguments: Some(json!({ "host": host, "url": link })),
        ..empty_action(QuestionKind::ElicitationUrl, source)
    };
    let options = vec![
        answer_option(ACCEPT, "I have opened the link", OptionEffect::Allow),
        answer_option(DECLINE, "Decline", OptionEffect::Deny),
    ];
    Some(Question { action, options, reason: Some(message.to_owned()), answer_schema: None })
}

/// The message and the form are what is asked: another form is another question.
fn form_question(source: &str, message: &str, schema: &Value) -> Question {
    let action = Action {
        arguments: Some(json!({ "message": message, "requestedSchema": schema })),
        ..empty_action(QuestionKind::ElicitationForm, source)
    };
    let options = vec![
        answer_option(ACCEPT, "Send the answer", OptionEffect::Answer),
        answer_option(DECLINE, "Decline", OptionEffect::Deny),
    ];
    let answer_schema = Some(schema.clone());
    Question { action, options, reason: Some(message.to_owned()), answer_schema }
}

/// Returns the reply for a chosen option; anything but the option that accepts declines.
pub(super) fn reply(option: Option<&str>, content: Option<AnswerContent>) -> Value {
    match (option, content) {
        (Some(ACCEPT), Some(content)) => json!({ "action": ACCEPT, "content": content.into_values() }),
        (Some(ACCEPT), None) => json!({ "action": ACCEPT }),
        (Some(_) | None, _) => json!({ "action": DECLINE }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_is_asked_whole_with_its_host_and_only_accept_accepts() {
        let link = format!("https://login.example.org/device?code={}", "x".repeat(4096));
        let request = json!({ "mode": "url", "message": "Sign in", "url": link, "elicitationId": "e" });
        let question = question("tracker", &request).expect("a question");
        assert_eq!(question.action.link(), Some((link.as_str(), "login.example.org")));
        assert_eq!((question.action.tool.as_str(), question.reason.as_deref()), ("tracker", Some("Sign in")));
        assert_eq!(question.plain_allowance(), None, "a rule cannot open it");
        assert_eq!(reply(Some("accept"), None), json!({ "action": "accept" }));
        for option in [None, Some("decline"), Some("cancel"), Some("Accept")] {
            assert_eq!(reply(option, None), json!({ "action": "decline" }), "{option:?}");
        }
    }

    #[test]
    fn form_is_asked_and_its_values_are_the_reply() {
        let schema =
            json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
        let request =
            |schema: &Value| json!({ "mode": "form", "message": "Who?", "requestedSchema": schema });
        let question_of = |schema: &Value| question("tracker", &request(schema));
        let asked = question_of(&schema).expect("a question");
        assert_eq!(
            (asked.action.kind, &asked.answer_schema),
            (QuestionKind::ElicitationForm, &Some(schema.clone()))
        );
        let mut optional = schema;
        optional["required"] = json!([]);
        let other = question_of(&optional).expect("a question");
        assert_ne!(asked.action.digest(), other.action.digest(), "another form is another question");
        let content: AnswerContent = serde_json::from_value(json!({ "name": "Ada" })).expect("values");
        let accepted = json!({ "action": "accept", "content": { "name": "Ada" } });
        assert_eq!(reply(Some("accept"), Some(content.clone())), accepted);
        assert_eq!(reply(Some("decline"), Some(content)), json!({ "action": "decline" }));
    }

    #[test]
    fn other_links_forms_and_modes_are_not_asked() {
        let request = |mode: &str, url: &str| json!({ "mode": mode, "message": "m", "url": url });
        for (mode, url) in
            [("url", "javascript:alert(1)"), ("url", "ssh://h"), ("url", ""), ("openai/form", "https://h")]
        {
            assert_eq!(question("s", &request(mode, url)), None, "{mode} {url}");
        }
        assert_eq!(question("s", &json!({ "url": "https://h", "message": "m" })), None, "no mode");
        let nested = json!({ "type": "object", "properties": { "x": { "type": "object" } } });
        for schema in [nested, json!({ "type": "object", "properties": {} }), Value::Null] {
            let request = json!({ "mode": "form", "message": "m", "requestedSchema": schema });
            assert_eq!(question("s", &request), None, "{schema}");
        }
    }
}
