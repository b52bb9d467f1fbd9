//! What stands in clear beside a sealed call or answer: enough for the server to count calls and to refuse those of strangers.
//!
//! The names are members of `protected_headers`. Whoever opens the message can verify them, and compares them with what is inside.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::check::ConversationKind;
use super::message::{ARTIFACT, ToolMessage, ToolMessageKind};

const MSG_SUBTYPE: &str = "msg_subtype";
const CONTENT_TYPE: &str = "content_type";
const CONVERSATION_ID: &str = "conversation_id";
const GROUP_ID: &str = "group_id";

/// The longest id of a conversation, in bytes.
const MAX_CONVERSATION_BYTES: usize = 128;

/// The conversation that a call belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallConversation {
    /// Empty for the one conversation that a user and an agent have without an id.
    pub id: String,
    pub kind: ConversationKind,
}

/// What stands in clear is not what is inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("protected_headers.{0}: missing, wrong, or not what is inside the message")]
pub struct HeaderMismatch(pub &'static str);

/// Returns the headers of a call or an answer.
#[must_use]
pub fn tool_headers(kind: ToolMessageKind, conversation: &str) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::from([
        (MSG_SUBTYPE.to_owned(), kind.as_str().to_owned()),
        (CONTENT_TYPE.to_owned(), ARTIFACT.to_owned()),
    ]);
    if !conversation.is_empty() {
        headers.insert(CONVERSATION_ID.to_owned(), conversation.to_owned());
    }
    headers
}

/// Returns the subtype that stands in clear beside a sealed message; none for other messages.
#[must_use]
pub fn clear_subtype(headers: &Map<String, Value>) -> Option<ToolMessageKind> {
    let name = headers.get(MSG_SUBTYPE)?.as_str()?;
    ToolMessageKind::ALL.iter().copied().find(|kind| kind.as_str() == name)
}

/// Returns whether a message that is not sealed is a call or an answer, or claims to be one.
#[must_use]
pub fn is_clear_tool_message(payload: &Map<String, Value>, envelope_type: &str) -> bool {
    let call = ToolMessageKind::Call.as_str();
    let headers = payload.get("protected_headers").and_then(Value::as_object);
    ToolMessage::kind_of(payload).is_some()
        || envelope_type == call
        || payload.get("type").is_some_and(|name| name == call)
        || payload.get(MSG_SUBTYPE).is_some_and(|name| name == call)
        || headers.and_then(clear_subtype) == Some(ToolMessageKind::Call)
}

/// Returns whether the headers of an opened message say that it is a call.
#[must_use]
pub fn claims_call(headers: &BTreeMap<String, String>) -> bool {
    headers.get(MSG_SUBTYPE).is_some_and(|name| name == ToolMessageKind::Call.as_str())
}

/// Compares the headers with what was sealed, and returns the conversation.
pub fn check_headers(
    headers: &BTreeMap<String, String>,
    kind: ToolMessageKind,
    payload: &Map<String, Value>,
) -> Result<CallConversation, HeaderMismatch> {
    let header = |name: &str| headers.get(name).map(String::as_str);
    if header(MSG_SUBTYPE) != Some(kind.as_str()) {
        return Err(HeaderMismatch(MSG_SUBTYPE));
    }
    if header(CONTENT_TYPE) != Some(ARTIFACT) {
        return Err(HeaderMismatch(CONTENT_TYPE));
    }
    // Inside, they need not be repeated.
    for name in [MSG_SUBTYPE, CONTENT_TYPE, CONVERSATION_ID, GROUP_ID] {
        let is_other = |inside: &Value| inside.as_str() != Some(header(name).unwrap_or_default());
        if payload.get(name).is_some_and(is_other) {
            return Err(HeaderMismatch(name));
        }
    }
    let id = header(CONVERSATION_ID).unwrap_or_default();
    if id.len() > MAX_CONVERSATION_BYTES {
        return Err(HeaderMismatch(CONVERSATION_ID));
    }
    let is_group = header(GROUP_ID).is_some_and(|group| !group.is_empty());
    let kind = if is_group { ConversationKind::Group } else { ConversationKind::Direct };
    Ok(CallConversation { id: id.to_owned(), kind })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    fn check(
        headers: &[(&str, &str)],
        kind: ToolMessageKind,
        payload: Value,
    ) -> Result<CallConversation, HeaderMismatch> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        check_headers(&headers, kind, &object(payload))
    }

    // covers: M28
    #[test]
    fn headers_that_differ_from_the_inside_are_refused() {
        use ToolMessageKind::{Call, Response};
        let call = [("msg_subtype", "artifact_tool_call"), ("content_type", "artifact")];
        let with = |name, value| [call[0], call[1], (name, value)];
        let direct = |id: &str| Ok(CallConversation { id: id.to_owned(), kind: ConversationKind::Direct });
        assert_eq!(check(&call, Call, json!({})), direct(""));
        assert_eq!(check(&with("conversation_id", "c-1"), Call, json!({})), direct("c-1"));
        let inside = json!({ "conversation_id": "c-1", "content_type": "artifact" });
        assert_eq!(check(&with("conversation_id", "c-1"), Call, inside), direct("c-1"));
        let group = check(&with("group_id", "g-1"), Call, json!({})).map(|found| found.kind);
        assert_eq!(group, Ok(ConversationKind::Group));
        for (headers, kind, payload, name) in [
            (&call[..], Response, json!({}), MSG_SUBTYPE),
            (&call[1..], Call, json!({}), MSG_SUBTYPE),
            (&call[..1], Call, json!({}), CONTENT_TYPE),
            (&call[..], Call, json!({ "msg_subtype": "artifact_response" }), MSG_SUBTYPE),
            (&call[..], Call, json!({ "conversation_id": "c-2" }), CONVERSATION_ID),
            (&with("conversation_id", "c-1")[..], Call, json!({ "conversation_id": 7 }), CONVERSATION_ID),
            // A group that is hidden from the server.
            (&call[..], Call, json!({ "group_id": "g-1" }), GROUP_ID),
            (&with("conversation_id", &"x".repeat(129))[..], Call, json!({}), CONVERSATION_ID),
        ] {
            assert_eq!(check(headers, kind, payload), Err(HeaderMismatch(name)));
        }
    }

    #[test]
    fn headers_that_are_written_are_accepted() {
        for (kind, conversation) in [(ToolMessageKind::Call, ""), (ToolMessageKind::Response, "c-1")] {
            let found = check_headers(&tool_headers(kind, conversation), kind, &Map::new());
            let expected = CallConversation { id: conversation.to_owned(), kind: ConversationKind::Direct };
            assert_eq!(found, Ok(expected));
        }
    }

    #[test]
    fn messages_that_are_not_sealed_and_claim_to_be_calls_are_recognised() {
        let call = json!({ "type": "artifact", "artifact": { "subtype": "tool_call" } });
        let response = json!({ "type": "artifact", "artifact": { "subtype": "tool_response" } });
        for (payload, envelope_type) in [
            (call, ""),
            (response, ""),
            (json!({ "type": "artifact_tool_call" }), ""),
            (json!({ "msg_subtype": "artifact_tool_call" }), ""),
            (json!({ "protected_headers": { "msg_subtype": "artifact_tool_call" } }), ""),
            (json!({ "type": "text" }), "artifact_tool_call"),
        ] {
            assert!(is_clear_tool_message(&object(payload.clone()), envelope_type), "{payload}");
        }
        for payload in [
            json!({ "type": "text", "text": "artifact_tool_call" }),
            json!({ "type": "artifact", "artifact": { "subtype": "document" } }),
            json!({ "msg_subtype": "artifact_response" }),
        ] {
            assert!(!is_clear_tool_message(&object(payload.clone()), ""), "{payload}");
        }
    }
}
