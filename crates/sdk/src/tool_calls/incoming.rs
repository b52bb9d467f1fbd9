//! What an opened message is for a guard.

use guildhall_domain::agents::tool_calls::{
    CallConversation, HeaderMismatch, InvalidToolMessage, ToolCall, ToolMessage, ToolMessageKind,
    ToolResponse, check_headers, claims_call,
};
use guildhall_domain::identity::Aid;

use crate::messages::{ReceivedMessage, SealKind};

/// Why a message about a tool is not believed. It gets no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefusedMessage {
    /// Anybody on its way could have read it, or written it.
    #[error("it is not sealed in the second version of end-to-end encryption")]
    NotSealed,
    #[error("the decrypted message is not a tool call, although its header says so")]
    NoCall,
    #[error(transparent)]
    Headers(#[from] HeaderMismatch),
    #[error(transparent)]
    Invalid(#[from] InvalidToolMessage),
}

/// A message about a tool that is believed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ToolTraffic {
    Call { call: ToolCall, conversation: CallConversation },
    Response(ToolResponse),
}

/// Reads a message; none for one that is not about a tool.
pub(super) fn read(message: &ReceivedMessage) -> Result<Option<ToolTraffic>, RefusedMessage> {
    let claims_call = claims_call(&message.headers);
    let Some(kind) = ToolMessage::kind_of(&message.payload) else {
        return if claims_call { Err(RefusedMessage::NoCall) } else { Ok(None) };
    };
    if message.seal != SealKind::V2 {
        return Err(RefusedMessage::NotSealed);
    }
    let conversation = check_headers(&message.headers, kind, &message.payload)?;
    Ok(match ToolMessage::read(&message.payload)? {
        Some(ToolMessage::Call(call)) => Some(ToolTraffic::Call { call, conversation }),
        Some(ToolMessage::Response(response)) => Some(ToolTraffic::Response(response)),
        None => None,
    })
}

/// Returns whether a message is for this AID, and from another one. A device also gets what its own other devices send.
pub(super) fn is_from_other(message: &ReceivedMessage, own: &Aid) -> bool {
    message.from != *own && message.to == *own
}

/// The kind of answers, for their headers.
pub(super) const RESPONSE: ToolMessageKind = ToolMessageKind::Response;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use guildhall_domain::agents::tool_calls::{ConversationKind, tool_headers};
    use guildhall_domain::messages::DeliveryMode;
    use jiff::Timestamp;
    use serde_json::{Map, Value, json};

    use super::*;

    fn call() -> ToolCall {
        ToolCall {
            id: "call-1".parse().expect("an id"),
            tool: "read_file".to_owned(),
            arguments: json!({}),
            scope: "filesystem:read".to_owned(),
            timeout_ms: None,
        }
    }

    fn message(
        seal: SealKind,
        headers: BTreeMap<String, String>,
        payload: Map<String, Value>,
    ) -> ReceivedMessage {
        ReceivedMessage {
            seq: 1,
            message_id: "m-1".to_owned(),
            from: "helper.guild.example".parse().expect("an AID"),
            to: "alice.guild.example".parse().expect("an AID"),
            stored_at: Timestamp::UNIX_EPOCH,
            sealed_at: None,
            seal,
            delivery: DeliveryMode::Fanout,
            headers,
            payload,
        }
    }

    // covers: M28
    #[test]
    fn only_sealed_messages_with_the_same_inside_are_believed() {
        let payload = || ToolMessage::Call(call()).to_payload();
        let headers = tool_headers(ToolMessageKind::Call, "c-1");
        let conversation = CallConversation { id: "c-1".to_owned(), kind: ConversationKind::Direct };
        let believed = read(&message(SealKind::V2, headers.clone(), payload()));
        assert_eq!(believed, Ok(Some(ToolTraffic::Call { call: call(), conversation })));
        for seal in [SealKind::V1, SealKind::NotSealed] {
            let refused = read(&message(seal, headers.clone(), payload()));
            assert_eq!(refused, Err(RefusedMessage::NotSealed));
        }
        // Without the mark, the server could not have counted it.
        let unmarked = read(&message(SealKind::V2, BTreeMap::new(), payload()));
        assert_eq!(unmarked, Err(RefusedMessage::Headers(HeaderMismatch("msg_subtype"))));
        let as_response = tool_headers(ToolMessageKind::Response, "c-1");
        let disguised = read(&message(SealKind::V2, as_response, payload()));
        assert_eq!(disguised, Err(RefusedMessage::Headers(HeaderMismatch("msg_subtype"))));
        let text = json!({ "type": "text", "text": "hi" }).as_object().cloned().unwrap_or_default();
        assert_eq!(read(&message(SealKind::V2, headers, text.clone())), Err(RefusedMessage::NoCall));
        assert_eq!(read(&message(SealKind::V2, BTreeMap::new(), text)), Ok(None));
    }
}
