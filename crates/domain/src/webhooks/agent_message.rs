//! What a webhook of an agent is told about a message, as far as it is readable without a key.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::event::WebhookEventType;
use crate::identity::Aid;
use crate::ids::AgentId;
use crate::messages::{InboxSeq, MessageContent, MessageId, MessageKind};

/// The largest payload that is sent along. An event with a larger one has the ids: the message is in the inbox.
pub const MAX_ENVELOPE_BYTES: usize = 64 * 1024;

/// The longest id of a conversation. A longer one counts as none.
const MAX_CONVERSATION_CHARS: usize = 200;

/// The subtype of the answer to a tool call.
const ARTIFACT_RESPONSE: &str = "artifact_response";

/// Kinds of messages that no webhook is told about: the agent has sent them itself.
pub const OWN_COPIES: [MessageKind; 2] = [MessageKind::SealedV1SelfCopies, MessageKind::SealedV2SelfCopy];

/// A message that has reached an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMessage {
    pub agent: AgentId,
    pub agent_aid: Aid,
    pub from: Aid,
    pub id: MessageId,
    pub seq: InboxSeq,
    pub kind: MessageKind,
    pub sent_at: Timestamp,
    pub content: MessageContent,
}

/// What the server reads of a message. Sealed content is never opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClearParts {
    pub event: WebhookEventType,
    pub conversation: Option<String>,
}

impl ClearParts {
    /// Reads the members of a plain payload, or those that travel in clear beside sealed content.
    #[must_use]
    pub fn read(kind: MessageKind, content: &MessageContent) -> Self {
        let payload = match content {
            MessageContent::Payload(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            MessageContent::Recalled => Value::Null,
        };
        let clear = match kind {
            MessageKind::Plain => &payload,
            MessageKind::SealedV2 => &payload["protected_headers"],
            MessageKind::SealedV1
            | MessageKind::SealedV1Copies
            | MessageKind::SealedV1SelfCopies
            | MessageKind::SealedV2SelfCopy
            | MessageKind::Recall => &Value::Null,
        };
        let is_response = clear["msg_subtype"] == ARTIFACT_RESPONSE
            || (clear["type"] == "artifact" && clear["artifact"]["subtype"] == "tool_response");
        let conversation = clear["conversation_id"].as_str();
        let conversation =
            conversation.filter(|id| !id.is_empty() && id.chars().count() <= MAX_CONVERSATION_CHARS);
        // PostgreSQL stores no NUL: one such message would hold up all that come after it.
        let conversation = conversation.filter(|id| !id.contains('\0'));
        Self {
            event: if is_response {
                WebhookEventType::ArtifactResponse
            } else {
                WebhookEventType::MessageNew
            },
            conversation: conversation.map(str::to_owned),
        }
    }

    /// Returns the lane of the event: those of one conversation with a sender are sent in order. A sender cannot hold up
    /// the conversations of another one by naming them.
    #[must_use]
    pub fn lane(&self, from: &Aid) -> String {
        match &self.conversation {
            Some(conversation) => format!("{from} {conversation}"),
            None => from.to_string(),
        }
    }
}

/// Returns the data of an event, without the envelope.
#[must_use]
pub fn event_data(message: &AgentMessage, clear: &ClearParts) -> Value {
    json!({
        "agentId": message.agent,
        "agentAid": message.agent_aid.to_string(),
        "from": message.from.to_string(),
        "conversationId": clear.conversation,
        "messageId": message.id.as_str(),
        "seq": message.seq.get(),
        "sentAt": message.sent_at,
        "kind": message.kind,
        "sealed": message.kind.is_sealed(),
    })
}

/// What an event says about the content of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Envelope<'a> {
    Stored(&'a MessageContent),
    Expired,
    /// The inbox is not that of the agent any more: what it holds is not for the agent's webhooks.
    Withdrawn,
}

/// Puts the envelope of a message into the body of its event, as it is stored now. A body that is no JSON object stays as it is.
#[must_use]
pub fn with_envelope(body: &str, envelope: Envelope<'_>) -> String {
    let Ok(mut whole) = serde_json::from_str::<Value>(body) else { return body.to_owned() };
    let Some(data) = whole["data"].as_object_mut() else { return body.to_owned() };
    let (envelope, state) = match envelope {
        Envelope::Expired => (Value::Null, "expired"),
        Envelope::Withdrawn => (Value::Null, "withdrawn"),
        Envelope::Stored(MessageContent::Recalled) => (Value::Null, "recalled"),
        Envelope::Stored(MessageContent::Payload(text)) if text.len() > MAX_ENVELOPE_BYTES => {
            (Value::Null, "too-large")
        }
        Envelope::Stored(MessageContent::Payload(text)) => {
            (serde_json::from_str(text).unwrap_or(Value::Null), "included")
        }
    };
    data.insert("envelope".to_owned(), envelope);
    data.insert("envelopeState".to_owned(), json!(state));
    whole.to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(kind: MessageKind, payload: &Value) -> (WebhookEventType, Option<String>) {
        let clear = ClearParts::read(kind, &MessageContent::Payload(payload.to_string()));
        (clear.event, clear.conversation)
    }

    #[test]
    fn response_is_recognised_by_what_travels_in_clear() {
        use WebhookEventType::{ArtifactResponse, MessageNew};
        let subtype = json!({ "msg_subtype": "artifact_response", "conversation_id": "c1" });
        let artifact = json!({ "type": "artifact", "artifact": { "subtype": "tool_response" } });
        let call = json!({ "type": "artifact", "artifact": { "subtype": "tool_call" } });
        let sealed = json!({ "type": "e2ee.p2p_encrypted", "protected_headers": subtype });
        let c1 = Some("c1".to_owned());
        for (kind, payload, expected) in [
            (MessageKind::Plain, &subtype, (ArtifactResponse, c1.clone())),
            (MessageKind::Plain, &artifact, (ArtifactResponse, None)),
            (MessageKind::Plain, &call, (MessageNew, None)),
            (MessageKind::Plain, &json!({ "type": "text", "conversation_id": 7 }), (MessageNew, None)),
            (MessageKind::Plain, &json!({ "conversation_id": "x".repeat(201) }), (MessageNew, None)),
            (MessageKind::Plain, &json!({ "conversation_id": "c\u{0}1" }), (MessageNew, None)),
            (MessageKind::SealedV2, &sealed, (ArtifactResponse, c1)),
            // The members beside the envelope are not those that the sender has signed.
            (MessageKind::SealedV2, &subtype, (MessageNew, None)),
            (MessageKind::SealedV1, &subtype, (MessageNew, None)),
        ] {
            assert_eq!(read(kind, payload), expected, "{kind} {payload}");
        }
        let recalled = ClearParts::read(MessageKind::Plain, &MessageContent::Recalled);
        assert_eq!(recalled, ClearParts { event: MessageNew, conversation: None });
    }

    #[test]
    fn envelope_is_what_the_inbox_holds_now() {
        let body = r#"{"data":{"seq":1},"type":"message.new"}"#;
        let text = |length: usize| MessageContent::Payload(json!("x".repeat(length)).to_string());
        let whole = |envelope: Envelope<'_>| -> Value {
            serde_json::from_str(&with_envelope(body, envelope)).expect("JSON")
        };
        let included = text(MAX_ENVELOPE_BYTES - 2);
        let envelope = json!("x".repeat(MAX_ENVELOPE_BYTES - 2));
        for (content, expected) in [
            (Envelope::Expired, json!({ "seq": 1, "envelope": null, "envelopeState": "expired" })),
            (Envelope::Withdrawn, json!({ "seq": 1, "envelope": null, "envelopeState": "withdrawn" })),
            (
                Envelope::Stored(&MessageContent::Recalled),
                json!({ "seq": 1, "envelope": null, "envelopeState": "recalled" }),
            ),
            (
                Envelope::Stored(&included),
                json!({ "seq": 1, "envelope": envelope, "envelopeState": "included" }),
            ),
            (
                Envelope::Stored(&text(MAX_ENVELOPE_BYTES - 1)),
                json!({ "seq": 1, "envelope": null, "envelopeState": "too-large" }),
            ),
        ] {
            assert_eq!(whole(content), json!({ "type": "message.new", "data": expected }));
        }
        assert_eq!(with_envelope("not JSON", Envelope::Expired), "not JSON");
    }

    proptest! {
        #[test]
        fn lanes_of_different_senders_differ(
            conversations in prop::collection::vec(prop::option::of("[ -~]{1,20}"), 2),
        ) {
            let senders = ["alice.example.org", "bobby.example.org"].map(|aid| aid.parse::<Aid>().expect("an AID"));
            let lanes = senders.iter().zip(conversations).map(|(from, conversation)| {
                ClearParts { event: WebhookEventType::MessageNew, conversation }.lane(from)
            });
            let lanes: Vec<String> = lanes.collect();
            prop_assert_ne!(&lanes[0], &lanes[1]);
        }

        #[test]
        fn any_payload_is_read(text in ".{0,200}") {
            for kind in MessageKind::ALL {
                let clear = ClearParts::read(*kind, &MessageContent::Payload(text.clone()));
                prop_assert!(WebhookEventType::OF_AGENT.contains(&clear.event));
            }
        }
    }
}
