//! Agents that answer messages. The server holds the key of their AID.

use serde_json::{Value, json};

use super::inbox::MessageId;
use crate::access::role::{Permission, Role};
use crate::ids::CommandId;
use crate::named_enum::named_enum;

named_enum! {
    /// Whose messages start work of an agent.
    WorkSenders, "group of senders";
    /// Members of the agent's tenant who may start runs.
    Members = "members",
    /// Every AID of this issuer.
    Anyone = "anyone",
}

impl WorkSenders {
    /// Returns whether the messages of a sender start work. The role is that of the AID's owner in the tenant of the agent.
    #[must_use]
    pub fn allow(self, role: Option<Role>) -> bool {
        match self {
            Self::Members => role.is_some_and(|role| role.allows(Permission::RunsWrite)),
            Self::Anyone => true,
        }
    }
}

/// The type of messages that are words of a person or an agent. A payload without a type is one too.
const TEXT: &str = "text";

/// Returns the words of a message; none where it is something else, such as a status or an error.
#[must_use]
pub fn message_words(payload: &Value) -> Option<&str> {
    let is_text = payload.get("type").is_none_or(|kind| kind == TEXT);
    let text = payload.get("text").and_then(Value::as_str).filter(|_| is_text)?;
    (!text.trim().is_empty()).then_some(text)
}

/// What an agent answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentAnswer {
    Reply(String),
    /// The turn has failed or was refused.
    Failure {
        kind: String,
        message: String,
    },
}

impl AgentAnswer {
    /// Returns the payload of the answer to a message.
    #[must_use]
    pub fn payload(&self, in_reply_to: &MessageId) -> Value {
        match self {
            Self::Reply(text) => json!({ "type": TEXT, "text": text, "in_reply_to": in_reply_to.as_str() }),
            Self::Failure { kind, message } => json!({
                "type": "error", "code": kind, "text": message, "in_reply_to": in_reply_to.as_str(),
            }),
        }
    }
}

/// Returns the payload that tells how far an answer is.
#[must_use]
pub fn progress_payload(text: &str, in_reply_to: &MessageId) -> Value {
    json!({ "type": "status", "status": "working", "text": text, "in_reply_to": in_reply_to.as_str() })
}

/// Returns the id of the message that answers a turn: the same each time that it is sent.
#[must_use]
pub fn answer_id(turn: CommandId) -> MessageId {
    parse_id(&format!("answer-{turn}"))
}

/// Returns the id of the message that refuses another one: the same each time that it is sent.
#[must_use]
pub fn refusal_id(inbox: i64, seq: i64) -> MessageId {
    parse_id(&format!("refusal-{inbox}-{seq}"))
}

fn parse_id(text: &str) -> MessageId {
    text.parse().unwrap_or_else(|_| unreachable!("short and printable: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_start_work_if_they_may_start_runs() {
        for role in Role::ALL.iter().copied() {
            assert_eq!(WorkSenders::Members.allow(Some(role)), role.allows(Permission::RunsWrite), "{role}");
        }
        assert!(!WorkSenders::Members.allow(None));
        assert!(WorkSenders::Anyone.allow(None));
    }

    #[test]
    fn only_words_start_work() {
        for words in [json!({ "type": "text", "text": "hello" }), json!({ "text": "hello" })] {
            assert_eq!(message_words(&words), Some("hello"));
        }
        let others = [
            json!({ "type": "text" }),
            json!({ "type": "text", "text": "  " }),
            json!({ "type": "text", "text": 7 }),
            json!({ "type": "status", "text": "working" }),
            json!({ "type": "error", "text": "no" }),
            json!({ "type": 1, "text": "hello" }),
            json!({}),
        ];
        for other in others {
            assert_eq!(message_words(&other), None, "{other}");
        }
    }

    #[test]
    fn answer_is_no_question_if_it_failed() {
        let id: MessageId = "m-1".parse().expect("an id");
        let failure = AgentAnswer::Failure { kind: "backend-failed".to_owned(), message: "no".to_owned() };
        assert_eq!(message_words(&failure.payload(&id)), None);
        assert_eq!(message_words(&progress_payload("so far", &id)), None);
        let reply = AgentAnswer::Reply("done".to_owned()).payload(&id);
        assert_eq!(reply, json!({ "type": "text", "text": "done", "in_reply_to": "m-1" }));
    }
}
