//! What payloads say.

use guildhall_domain::messages::DeliveryMode;
use guildhall_sdk::messages::{ReceivedMessage, SealKind};
use serde_json::{Map, Value, json};

/// The type of a text, as all clients of AUN send it.
const TEXT: &str = "text";

/// The type of the notice that somebody is typing.
const TYPING: &str = "typing";

pub(super) fn text_payload(text: &str) -> Map<String, Value> {
    object(json!({ "type": TEXT, "text": text }))
}

pub(super) fn typing_payload() -> Map<String, Value> {
    object(json!({ "type": TYPING }))
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// Returns whether a message only says that its sender is typing.
pub(super) fn is_typing(message: &ReceivedMessage) -> bool {
    message.delivery == DeliveryMode::Queue && message.payload.get("type").is_some_and(|kind| kind == TYPING)
}

/// Returns the text of a payload, or the payload as JSON where it is something else. It may control a terminal.
pub(super) fn text_of(payload: &Map<String, Value>) -> String {
    match (payload.get("type").and_then(Value::as_str), payload.get("text").and_then(Value::as_str)) {
        (Some(TEXT) | None, Some(text)) => text.to_owned(),
        (Some(_), _) | (None, None) => Value::Object(payload.clone()).to_string(),
    }
}

/// Returns the name of a seal, for programs.
pub(super) fn seal_name(seal: SealKind) -> &'static str {
    match seal {
        SealKind::V2 => "v2",
        SealKind::V1 => "v1",
        SealKind::NotSealed => "none",
    }
}

/// Returns whether only the devices of sender and recipient can read a message.
pub(super) fn is_sealed(seal: SealKind) -> bool {
    match seal {
        SealKind::V2 | SealKind::V1 => true,
        SealKind::NotSealed => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_that_are_no_text_are_shown_whole() {
        let text = |payload: Value| text_of(&object(payload));
        assert_eq!(text(json!({ "type": "text", "text": "hi" })), "hi");
        assert_eq!(text(json!({ "text": "hi" })), "hi");
        assert_eq!(text(json!({ "type": "image", "text": "x" })), r#"{"text":"x","type":"image"}"#);
        assert_eq!(text(json!({ "type": "text", "text": 1 })), r#"{"text":1,"type":"text"}"#);
        assert_eq!(text(json!({})), "{}");
    }
}
