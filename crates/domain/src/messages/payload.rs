//! What a sender hands over: which kind of message it is, and how copies for single devices are taken apart.

use serde_json::{Map, Value};

use super::inbox::MessageKind;
use crate::agents::tool_calls::{ToolMessageKind, clear_subtype, is_clear_tool_message};

/// The largest payload, as JSON. A row of it stays below the 1 MiB that clients accept, also written as a JSON string.
pub const MAX_PAYLOAD_BYTES: usize = 440_000;

/// The types of payloads that the protocol knows. All others are for the application.
const SEALED_V2: &str = "e2ee.p2p_encrypted";
const SEALED_V1: &str = "e2ee.encrypted";
const SEALED_V1_COPIES: &str = "e2ee.multi_device";

/// The largest number of copies of one message.
const MAX_COPIES: usize = 100;

/// The payload cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPayload {
    #[error("payload: larger than {MAX_PAYLOAD_BYTES} bytes; larger content belongs in object storage")]
    TooLarge,
    #[error("payload: whole numbers beyond ±(2^53 − 1) end the connection of clients that read strictly")]
    Number,
    #[error("payload: encrypted is true, but the payload is no sealed message")]
    NotSealed,
    #[error(
        "payload: calls of tools and their answers travel sealed, in the second version of end-to-end encryption"
    )]
    ClearToolMessage,
    #[error("payload.{0}: expected at most {MAX_COPIES} objects with a device_id and an envelope")]
    Copies(&'static str),
}

/// Envelopes by device, as JSON: `{"device": {envelope}}`.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceCopies(Map<String, Value>);

impl DeviceCopies {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    /// Returns the envelope for a device out of stored copies.
    #[must_use]
    pub fn find(stored: &str, device: &str) -> Option<Value> {
        let Ok(Value::Object(mut copies)) = serde_json::from_str(stored) else { return None };
        copies.remove(device)
    }
}

/// The payload of a message to send.
#[derive(Debug, Clone, PartialEq)]
pub enum SentPayload {
    Plain(String),
    SealedV1(Value),
    /// One copy for each device of the recipient, and of the sender, and the payload that they came in.
    SealedV1Copies {
        whole: Value,
        recipient: DeviceCopies,
        own: DeviceCopies,
    },
    SealedV2(Value),
}

impl SentPayload {
    /// Finds out what a payload is. `envelope_type` and `encrypted` stand beside it.
    pub fn parse(
        payload: Map<String, Value>,
        envelope_type: &str,
        encrypted: bool,
    ) -> Result<Self, InvalidPayload> {
        let kind = payload.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_tool_message = is_clear_tool_message(&payload, envelope_type);
        let payload = Value::Object(payload);
        let text = payload.to_string();
        if text.len() > MAX_PAYLOAD_BYTES {
            return Err(InvalidPayload::TooLarge);
        }
        if !has_exact_numbers(&payload) {
            return Err(InvalidPayload::Number);
        }
        if is_tool_message && kind != SEALED_V2 {
            return Err(InvalidPayload::ClearToolMessage);
        }
        match (kind.as_str(), envelope_type) {
            (SEALED_V2, _) => Ok(Self::SealedV2(payload)),
            (SEALED_V1_COPIES, _) | (_, SEALED_V1_COPIES) => Ok(Self::SealedV1Copies {
                recipient: copies(&payload, "recipient_copies")?,
                own: copies(&payload, "self_copies")?,
                whole: payload,
            }),
            (SEALED_V1, _) => Ok(Self::SealedV1(payload)),
            (_, SEALED_V1) => Err(InvalidPayload::NotSealed),
            (_, _) if encrypted => Err(InvalidPayload::NotSealed),
            (_, _) => Ok(Self::Plain(text)),
        }
    }

    #[must_use]
    pub fn kind(&self) -> MessageKind {
        match self {
            Self::Plain(_) => MessageKind::Plain,
            Self::SealedV1(_) => MessageKind::SealedV1,
            Self::SealedV1Copies { .. } => MessageKind::SealedV1Copies,
            Self::SealedV2(_) => MessageKind::SealedV2,
        }
    }

    /// Returns whether its sender says in clear that it is a call of a tool. What is inside is not known here.
    #[must_use]
    pub fn is_tool_call(&self) -> bool {
        match self {
            Self::Plain(_) | Self::SealedV1(_) | Self::SealedV1Copies { .. } => false,
            Self::SealedV2(envelope) => {
                let headers = envelope.get("protected_headers").and_then(Value::as_object);
                headers.and_then(clear_subtype) == Some(ToolMessageKind::Call)
            }
        }
    }

    /// Returns what the inbox of the recipient stores.
    #[must_use]
    pub fn stored(&self) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::SealedV1(envelope) | Self::SealedV2(envelope) => envelope.to_string(),
            Self::SealedV1Copies { recipient, .. } => recipient.to_json(),
        }
    }
}

/// The largest whole number that every reader of JSON has exactly.
const MAX_EXACT: u64 = (1 << 53) - 1;

fn has_exact_numbers(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let whole = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
            whole.is_none_or(|whole| whole <= MAX_EXACT)
        }
        Value::Array(items) => items.iter().all(has_exact_numbers),
        Value::Object(members) => members.values().all(has_exact_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

fn copies(payload: &Value, member: &'static str) -> Result<DeviceCopies, InvalidPayload> {
    let items = match payload.get(member) {
        None | Some(Value::Null) => return Ok(DeviceCopies(Map::new())),
        Some(Value::Array(items)) if items.len() <= MAX_COPIES => items,
        Some(_) => return Err(InvalidPayload::Copies(member)),
    };
    let copy = |item: &Value| {
        let device = item.get("device_id")?.as_str()?.to_owned();
        let envelope = item.get("envelope").filter(|envelope| envelope.is_object())?;
        Some((device, envelope.clone()))
    };
    let copies: Option<Map<String, Value>> = items.iter().map(copy).collect();
    copies.map(DeviceCopies).ok_or(InvalidPayload::Copies(member))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(payload: Value, envelope_type: &str, encrypted: bool) -> Result<SentPayload, InvalidPayload> {
        let Value::Object(payload) = payload else { panic!("an object") };
        SentPayload::parse(payload, envelope_type, encrypted)
    }

    #[test]
    fn kind_follows_from_the_type_of_the_payload() {
        for (payload, envelope_type, encrypted, expected) in [
            (json!({ "type": "text", "text": "hi" }), "", false, MessageKind::Plain),
            (json!({}), "", false, MessageKind::Plain),
            (json!({ "type": "peer.offer" }), "", false, MessageKind::Plain),
            (json!({ "type": 7 }), "custom", false, MessageKind::Plain),
            (json!({ "type": "e2ee.encrypted" }), "e2ee.encrypted", true, MessageKind::SealedV1),
            (json!({ "type": "e2ee.p2p_encrypted" }), "", false, MessageKind::SealedV2),
            (json!({ "type": "e2ee.multi_device" }), "e2ee.multi_device", true, MessageKind::SealedV1Copies),
        ] {
            let parsed = parse(payload.clone(), envelope_type, encrypted);
            assert_eq!(parsed.map(|parsed| parsed.kind()), Ok(expected), "{payload}");
        }
    }

    #[test]
    fn flag_for_a_payload_that_is_not_sealed_is_refused() {
        for (envelope_type, encrypted) in [("", true), ("e2ee.encrypted", false), ("e2ee.encrypted", true)] {
            let parsed = parse(json!({ "type": "text", "text": "hi" }), envelope_type, encrypted);
            assert_eq!(parsed, Err(InvalidPayload::NotSealed));
        }
    }

    // covers: M28
    #[test]
    fn calls_of_tools_are_accepted_only_sealed_in_the_second_version() {
        let headers = json!({ "msg_subtype": "artifact_tool_call", "content_type": "artifact" });
        let sealed = |kind: &str| json!({ "type": kind, "protected_headers": headers });
        let call = parse(sealed("e2ee.p2p_encrypted"), "", false).expect("sealed");
        assert!(call.is_tool_call());
        let response = json!({
            "type": "e2ee.p2p_encrypted", "protected_headers": { "msg_subtype": "artifact_response" },
        });
        assert!(!parse(response, "", false).expect("sealed").is_tool_call());
        let plain = json!({ "type": "artifact", "artifact": { "subtype": "tool_call" } });
        for refused in [sealed("e2ee.encrypted"), sealed("text"), plain] {
            assert_eq!(parse(refused, "", false), Err(InvalidPayload::ClearToolMessage));
        }
    }

    #[test]
    fn copies_are_found_by_device() {
        let payload = json!({
            "type": "e2ee.multi_device", "logical_message_id": "m1",
            "recipient_copies": [{ "device_id": "a", "envelope": { "n": 1 } }, { "device_id": "", "envelope": { "n": 2 } }],
            "self_copies": [{ "device_id": "own", "envelope": { "n": 3 } }],
        });
        let Ok(SentPayload::SealedV1Copies { recipient, own, .. }) = parse(payload, "", true) else {
            panic!("copies")
        };
        let stored = recipient.to_json();
        assert_eq!(DeviceCopies::find(&stored, "a"), Some(json!({ "n": 1 })));
        assert_eq!(DeviceCopies::find(&stored, ""), Some(json!({ "n": 2 })));
        assert_eq!(DeviceCopies::find(&stored, "own"), None);
        assert_eq!(DeviceCopies::find(&own.to_json(), "own"), Some(json!({ "n": 3 })));
    }

    #[test]
    fn malformed_copies_are_refused() {
        for recipient in [
            json!({}),
            json!([7]),
            json!([{ "device_id": "a" }]),
            json!([{ "device_id": "a", "envelope": "text" }]),
            json!(vec![json!({ "device_id": "a", "envelope": {} }); MAX_COPIES + 1]),
        ] {
            let payload = json!({ "type": "e2ee.multi_device", "recipient_copies": recipient });
            assert_eq!(parse(payload, "", true), Err(InvalidPayload::Copies("recipient_copies")));
        }
    }

    #[test]
    fn numbers_that_strict_clients_refuse_are_refused() {
        for (number, expected) in [
            (json!(9_007_199_254_740_991_i64), true),
            (json!(-9_007_199_254_740_991_i64), true),
            (json!(9_007_199_254_740_992_i64), false),
            (json!(-9_007_199_254_740_992_i64), false),
            (json!(u64::MAX), false),
            (json!(0.5), true),
        ] {
            let parsed = parse(json!({ "nested": [{ "n": number }] }), "", false);
            assert_eq!(parsed.is_ok(), expected, "{number}");
        }
    }

    #[test]
    fn payload_above_the_limit_is_refused() {
        let text = |length: usize| json!({ "text": "x".repeat(length) });
        let frame = json!({ "text": "" }).to_string().len();
        assert!(parse(text(MAX_PAYLOAD_BYTES - frame), "", false).is_ok());
        assert_eq!(parse(text(MAX_PAYLOAD_BYTES - frame + 1), "", false), Err(InvalidPayload::TooLarge));
    }
}
