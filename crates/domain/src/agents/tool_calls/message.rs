//! The messages in which calls of tools and their answers travel.
//!
//! Both are artifacts: `{"type": "artifact", "artifact": {"subtype": "tool_call", …}}`. What is in them is sealed. What stands beside
//! them in clear is in [`headers`](super::headers).

use serde_json::{Map, Value, json};

use super::call::{CallId, ToolCall};
use super::outcome::{DenialReason, ToolErrorCode, ToolOutcome, ToolStatus};
use crate::named_enum::named_enum;

/// The type of payloads with artifacts, and the content type in clear.
pub(super) const ARTIFACT: &str = "artifact";

/// The longest name of a tool or scope that is read. Those of manifests are shorter.
const MAX_NAME_BYTES: usize = 256;

/// The longest time that an agent can ask for, in milliseconds: a day. The one of the manifest is a limit too.
const MAX_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;

named_enum! {
    /// The subtype of a message about a tool. There are no others: `artifact_response` is also the answer to other artifacts.
    ToolMessageKind, "subtype of a message about a tool";
    Call = "artifact_tool_call",
    Response = "artifact_response",
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResponse {
    pub id: CallId,
    pub outcome: ToolOutcome,
}

/// A call, or its answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolMessage {
    Call(ToolCall),
    Response(ToolResponse),
}

/// A member of a call or an answer that is missing or wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("artifact.{0}: missing or wrong")]
pub struct InvalidToolMessage(pub &'static str);

impl ToolMessage {
    /// Returns what a payload says it is, as far as its shape is concerned; none for other payloads.
    #[must_use]
    pub fn kind_of(payload: &Map<String, Value>) -> Option<ToolMessageKind> {
        let artifact = payload.get(ARTIFACT).filter(|_| payload.get("type").is_some_and(|it| it == ARTIFACT));
        match artifact?.get("subtype")?.as_str()? {
            "tool_call" => Some(ToolMessageKind::Call),
            "tool_response" => Some(ToolMessageKind::Response),
            _ => None,
        }
    }

    /// Reads a payload; none for one that is no call and no answer.
    ///
    /// Members may also be in a member `payload` of the artifact, as some clients write them. They are never in both.
    pub fn read(payload: &Map<String, Value>) -> Result<Option<Self>, InvalidToolMessage> {
        let Some(kind) = Self::kind_of(payload) else { return Ok(None) };
        let members = members(payload)?;
        Ok(Some(match kind {
            ToolMessageKind::Call => Self::Call(read_call(members)?),
            ToolMessageKind::Response => Self::Response(read_response(members)?),
        }))
    }

    #[must_use]
    pub fn kind(&self) -> ToolMessageKind {
        match self {
            Self::Call(_) => ToolMessageKind::Call,
            Self::Response(_) => ToolMessageKind::Response,
        }
    }

    /// Returns the payload.
    #[must_use]
    pub fn to_payload(&self) -> Map<String, Value> {
        let artifact = match self {
            Self::Call(call) => call_members(call),
            Self::Response(response) => response_members(response),
        };
        Map::from_iter([
            ("type".to_owned(), Value::from(ARTIFACT)),
            (ARTIFACT.to_owned(), Value::Object(artifact)),
        ])
    }
}

/// Returns the members of an artifact, from the one place where they are.
fn members(payload: &Map<String, Value>) -> Result<&Map<String, Value>, InvalidToolMessage> {
    let artifact = payload.get(ARTIFACT).and_then(Value::as_object).ok_or(InvalidToolMessage("subtype"))?;
    let Some(nested) = artifact.get("payload") else { return Ok(artifact) };
    let nested = nested.as_object().ok_or(InvalidToolMessage("payload"))?;
    // Two readers of both forms could understand different calls.
    if artifact.contains_key("call_id") {
        return Err(InvalidToolMessage("call_id"));
    }
    let is_other = |id: &Value| Some(id) != nested.get("call_id");
    if artifact.get("artifact_id").is_some_and(is_other) {
        return Err(InvalidToolMessage("artifact_id"));
    }
    Ok(nested)
}

fn read_call(members: &Map<String, Value>) -> Result<ToolCall, InvalidToolMessage> {
    let arguments = members.get("arguments").ok_or(InvalidToolMessage("arguments"))?;
    let timeout_ms = match members.get("timeout_ms") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let timeout = value.as_u64().filter(|timeout| (1..=MAX_TIMEOUT_MS).contains(timeout));
            Some(timeout.ok_or(InvalidToolMessage("timeout_ms"))?)
        }
    };
    Ok(ToolCall {
        id: call_id(members)?,
        tool: name(members, "tool_name")?,
        arguments: arguments.clone(),
        scope: name(members, "permission_scope")?,
        timeout_ms,
    })
}

fn read_response(members: &Map<String, Value>) -> Result<ToolResponse, InvalidToolMessage> {
    let text =
        |member: &'static str| members.get(member).and_then(Value::as_str).ok_or(InvalidToolMessage(member));
    let status = ToolStatus::from_name(text("status")?).map_err(|_| InvalidToolMessage("status"))?;
    let outcome = match status {
        ToolStatus::Ok => ToolOutcome::Done(members.get("result").cloned().unwrap_or_default()),
        ToolStatus::Error => {
            let code = ToolErrorCode::from_name(text("error_code")?);
            ToolOutcome::Failed(code.map_err(|_| InvalidToolMessage("error_code"))?)
        }
        ToolStatus::Denied => {
            let reason = DenialReason::from_name(text("reason")?);
            ToolOutcome::Denied(reason.map_err(|_| InvalidToolMessage("reason"))?)
        }
    };
    Ok(ToolResponse { id: call_id(members)?, outcome })
}

fn call_id(members: &Map<String, Value>) -> Result<CallId, InvalidToolMessage> {
    let id = members.get("call_id").and_then(Value::as_str).and_then(|id| id.parse().ok());
    id.ok_or(InvalidToolMessage("call_id"))
}

fn name(members: &Map<String, Value>, member: &'static str) -> Result<String, InvalidToolMessage> {
    let name = members.get(member).and_then(Value::as_str).filter(|name| name.len() <= MAX_NAME_BYTES);
    name.map(str::to_owned).ok_or(InvalidToolMessage(member))
}

fn call_members(call: &ToolCall) -> Map<String, Value> {
    let mut members = object(json!({
        "subtype": "tool_call", "call_id": call.id.as_str(), "tool_name": call.tool,
        "arguments": call.arguments, "permission_scope": call.scope,
    }));
    if let Some(timeout_ms) = call.timeout_ms {
        members.insert("timeout_ms".to_owned(), timeout_ms.into());
    }
    members
}

fn response_members(response: &ToolResponse) -> Map<String, Value> {
    let (member, value) = match &response.outcome {
        ToolOutcome::Done(result) => ("result", result.clone()),
        ToolOutcome::Failed(code) => ("error_code", code.as_str().into()),
        ToolOutcome::Denied(reason) => ("reason", reason.as_str().into()),
    };
    let status = response.outcome.status();
    let mut members = object(
        json!({ "subtype": "tool_response", "call_id": response.id.as_str(), "status": status.as_str() }),
    );
    members.insert(member.to_owned(), value);
    members
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call() -> ToolCall {
        ToolCall {
            id: "call_abc123".parse().expect("an id"),
            tool: "read_file".to_owned(),
            arguments: json!({ "path": "/Users/alice/notes.md" }),
            scope: "filesystem:read".to_owned(),
            timeout_ms: Some(5000),
        }
    }

    fn read(payload: Value) -> Result<Option<ToolMessage>, InvalidToolMessage> {
        ToolMessage::read(&object(payload))
    }

    // covers: M18
    #[test]
    fn call_has_the_members_of_the_specification() {
        let payload = json!({
            "type": "artifact",
            "artifact": {
                "subtype": "tool_call", "call_id": "call_abc123", "tool_name": "read_file",
                "arguments": { "path": "/Users/alice/notes.md" }, "permission_scope": "filesystem:read",
                "timeout_ms": 5000,
            },
        });
        assert_eq!(Value::Object(ToolMessage::Call(call()).to_payload()), payload);
        assert_eq!(read(payload), Ok(Some(ToolMessage::Call(call()))));
    }

    // covers: M19
    #[test]
    fn response_has_the_members_of_the_specification() {
        let result = json!({ "content": "...file content..." });
        for (outcome, status, member, value) in [
            (ToolOutcome::Done(result.clone()), "ok", "result", result),
            (
                ToolOutcome::Failed(ToolErrorCode::PlatformError),
                "error",
                "error_code",
                json!("TOOL_PLATFORM_ERROR"),
            ),
            (ToolOutcome::Denied(DenialReason::UserRefused), "denied", "reason", json!("user_refused")),
        ] {
            let payload = json!({
                "type": "artifact",
                "artifact": { "subtype": "tool_response", "call_id": "call_abc123", "status": status, (member): value },
            });
            let response = ToolMessage::Response(ToolResponse { id: call().id, outcome });
            assert_eq!(Value::Object(response.to_payload()), payload);
            assert_eq!(read(payload), Ok(Some(response)));
        }
    }

    #[test]
    fn nested_members_are_read_and_mixed_ones_are_refused() {
        let nested = json!({
            "call_id": "call_abc123", "tool_name": "read_file", "arguments": { "path": "/Users/alice/notes.md" },
            "permission_scope": "filesystem:read", "timeout_ms": 5000,
        });
        let artifact = |artifact: Value| read(json!({ "type": "artifact", "artifact": artifact }));
        let whole = json!({ "artifact_id": "call_abc123", "subtype": "tool_call", "payload": nested });
        assert_eq!(artifact(whole), Ok(Some(ToolMessage::Call(call()))));
        for (other, member) in [
            (json!({ "subtype": "tool_call", "call_id": "other", "payload": nested }), "call_id"),
            (json!({ "subtype": "tool_call", "artifact_id": "other", "payload": nested }), "artifact_id"),
            (json!({ "subtype": "tool_call", "payload": "text" }), "payload"),
        ] {
            assert_eq!(artifact(other), Err(InvalidToolMessage(member)));
        }
    }

    #[test]
    fn other_payloads_are_no_tool_messages_and_wrong_members_are_named() {
        for other in [
            json!({ "type": "text", "text": "hi" }),
            json!({ "type": "text", "artifact": { "subtype": "tool_call" } }),
            json!({ "type": "artifact", "artifact": { "subtype": "document" } }),
            json!({ "type": "artifact" }),
        ] {
            assert_eq!(read(other), Ok(None));
        }
        let changed = |member: &'static str, value: Value| {
            let mut payload = Value::Object(ToolMessage::Call(call()).to_payload());
            payload["artifact"][member] = value;
            assert_eq!(read(payload), Err(InvalidToolMessage(member)));
        };
        changed("call_id", json!("two words"));
        changed("tool_name", json!(7));
        changed("permission_scope", json!("x".repeat(MAX_NAME_BYTES + 1)));
        for timeout in [json!(0), json!(-1), json!("1"), json!(MAX_TIMEOUT_MS + 1)] {
            changed("timeout_ms", timeout);
        }
        let response = |members: Value| read(json!({ "type": "artifact", "artifact": members }));
        for (member, wrong) in [
            ("status", json!({ "subtype": "tool_response", "call_id": "c", "status": "fine" })),
            ("error_code", json!({ "subtype": "tool_response", "call_id": "c", "status": "error" })),
            (
                "reason",
                json!({ "subtype": "tool_response", "call_id": "c", "status": "denied", "reason": "no" }),
            ),
        ] {
            assert_eq!(response(wrong), Err(InvalidToolMessage(member)));
        }
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn calls_and_results_round_trip(
            id in "[!-~]{1,128}", tool in "[a-z_]{1,32}", arguments in json_value(), scope in "[a-z:]{1,40}",
            timeout_ms in proptest::option::of(1..=MAX_TIMEOUT_MS),
        ) {
            let id: CallId = id.parse().expect("an id");
            let response = ToolMessage::Response(ToolResponse {
                id: id.clone(), outcome: ToolOutcome::Done(arguments.clone()),
            });
            let call = ToolMessage::Call(ToolCall { id, tool, arguments, scope, timeout_ms });
            for message in [call, response] {
                prop_assert_eq!(ToolMessage::read(&message.to_payload()), Ok(Some(message)));
            }
        }

        #[test]
        fn any_artifact_is_read_or_refused(artifact in json_value(), kind in "tool_(call|response)") {
            let mut artifact = object(artifact);
            artifact.insert("subtype".to_owned(), kind.into());
            let payload = json!({ "type": "artifact", "artifact": artifact });
            let _total = ToolMessage::read(&object(payload));
        }
    }
}
