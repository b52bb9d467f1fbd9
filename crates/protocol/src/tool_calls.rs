//! Calls of tools and their answers, as payloads of messages.

use guildhall_domain::agents::tool_calls::{
    CallId, DenialReason, ToolCall, ToolErrorCode, ToolOutcome, ToolStatus,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The `msg_subtype` of a message with a call. Calls have no subtype of their own.
pub const CALL_SUBTYPE: &str = "artifact_tool_call";

/// The `msg_subtype` of a message with an answer.
pub const RESPONSE_SUBTYPE: &str = "artifact_response";

/// The `content_type` of both.
pub const CONTENT_TYPE: &str = "artifact";

/// A payload that is no call, or no answer, of a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidToolMessage(String);

/// The payload of a message about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolPayload {
    #[serde(rename = "type")]
    kind: PayloadKind,
    pub artifact: ToolArtifact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PayloadKind {
    Artifact,
}

/// A call or its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum ToolArtifact {
    ToolCall(ToolCallArtifact),
    ToolResponse(ToolResponseArtifact),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallArtifact {
    pub call_id: String,
    pub tool_name: String,
    pub arguments: Value,
    pub permission_scope: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// An answer. Which of the last three members it has depends on the status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResponseArtifact {
    pub call_id: String,
    pub status: ToolStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<DenialReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<ToolErrorCode>,
}

impl ToolPayload {
    /// Reads a payload. None where the message is about something else.
    pub fn parse(payload: &Value) -> Result<Option<Self>, InvalidToolMessage> {
        let is_artifact = payload["type"] == CONTENT_TYPE;
        if !is_artifact
            || !["tool_call", "tool_response"].iter().any(|name| payload["artifact"]["subtype"] == *name)
        {
            return Ok(None);
        }
        Self::deserialize(payload).map(Some).map_err(|error| InvalidToolMessage(error.to_string()))
    }

    /// Returns the payload of a call.
    #[must_use]
    pub fn call(call: &ToolCall) -> Self {
        let artifact = ToolArtifact::ToolCall(ToolCallArtifact {
            call_id: call.id.to_string(),
            tool_name: call.tool.clone(),
            arguments: call.arguments.clone(),
            permission_scope: call.scope.clone(),
            timeout_ms: call.timeout_ms,
        });
        Self { kind: PayloadKind::Artifact, artifact }
    }

    /// Returns the payload of an answer.
    #[must_use]
    pub fn response(call: &CallId, outcome: &ToolOutcome) -> Self {
        let (result, reason, error_code) = match outcome {
            ToolOutcome::Done(result) => (Some(result.clone()), None, None),
            ToolOutcome::Denied(reason) => (None, Some(*reason), None),
            ToolOutcome::Failed(code) => (None, None, Some(*code)),
        };
        let call_id = call.to_string();
        let status = outcome.status();
        let artifact =
            ToolArtifact::ToolResponse(ToolResponseArtifact { call_id, status, result, reason, error_code });
        Self { kind: PayloadKind::Artifact, artifact }
    }
}

impl TryFrom<ToolCallArtifact> for ToolCall {
    type Error = InvalidToolMessage;

    fn try_from(call: ToolCallArtifact) -> Result<Self, InvalidToolMessage> {
        Ok(Self {
            id: parse_call_id(&call.call_id)?,
            tool: call.tool_name,
            arguments: call.arguments,
            scope: call.permission_scope,
            timeout_ms: call.timeout_ms,
        })
    }
}

impl TryFrom<ToolResponseArtifact> for (CallId, ToolOutcome) {
    type Error = InvalidToolMessage;

    fn try_from(response: ToolResponseArtifact) -> Result<Self, InvalidToolMessage> {
        let ToolResponseArtifact { call_id, status, result, reason, error_code } = response;
        let outcome = match (status, result, reason, error_code) {
            (ToolStatus::Ok, result, None, None) => ToolOutcome::Done(result.unwrap_or_default()),
            (ToolStatus::Denied, None, Some(reason), None) => ToolOutcome::Denied(reason),
            (ToolStatus::Error, None, None, Some(code)) => ToolOutcome::Failed(code),
            (ToolStatus::Ok | ToolStatus::Denied | ToolStatus::Error, _, _, _) => {
                let message = format!("status {status}: the other members are of another status");
                return Err(InvalidToolMessage(message));
            }
        };
        Ok((parse_call_id(&call_id)?, outcome))
    }
}

fn parse_call_id(text: &str) -> Result<CallId, InvalidToolMessage> {
    text.parse().map_err(|error: guildhall_domain::agents::tool_calls::InvalidCallId| {
        InvalidToolMessage(error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call() -> Value {
        json!({
            "type": "artifact",
            "artifact": {
                "subtype": "tool_call", "call_id": "call_abc123", "tool_name": "read_file",
                "arguments": { "path": "/home/alice/notes.md" }, "permission_scope": "filesystem:read",
                "timeout_ms": 5000,
            },
        })
    }

    fn read_response(payload: &ToolPayload) -> Result<(CallId, ToolOutcome), InvalidToolMessage> {
        let value = serde_json::to_value(payload).expect("JSON");
        match ToolPayload::parse(&value)?.expect("a tool message").artifact {
            ToolArtifact::ToolResponse(response) => response.try_into(),
            ToolArtifact::ToolCall(call) => panic!("{call:?}"),
        }
    }

    #[test]
    fn call_has_the_members_of_the_specification() {
        let parsed = ToolPayload::parse(&call()).expect("valid").expect("a call");
        let ToolArtifact::ToolCall(artifact) = parsed.artifact.clone() else { panic!("{parsed:?}") };
        let read = ToolCall::try_from(artifact).expect("a call");
        assert_eq!(
            (read.id.as_str(), read.tool.as_str(), read.timeout_ms),
            ("call_abc123", "read_file", Some(5000))
        );
        assert_eq!(serde_json::to_value(ToolPayload::call(&read)).expect("JSON"), call());
    }

    #[test]
    fn each_outcome_is_answered_with_its_own_members() {
        let id: CallId = "call_abc123".parse().expect("an id");
        let mut outcomes =
            vec![ToolOutcome::Done(json!({ "content": "text" })), ToolOutcome::Done(Value::Null)];
        outcomes.extend(ToolErrorCode::ALL.iter().copied().map(ToolOutcome::Failed));
        outcomes.extend(DenialReason::ALL.iter().copied().map(ToolOutcome::Denied));
        for outcome in outcomes {
            let payload = ToolPayload::response(&id, &outcome);
            assert_eq!(read_response(&payload), Ok((id.clone(), outcome)));
        }
        let denied = ToolPayload::response(&id, &ToolOutcome::Denied(DenialReason::UserRefused));
        let expected = json!({
            "type": "artifact",
            "artifact": {
                "subtype": "tool_response", "call_id": "call_abc123", "status": "denied", "reason": "user_refused",
            },
        });
        assert_eq!(serde_json::to_value(denied).expect("JSON"), expected);
    }

    #[test]
    fn other_messages_are_none_and_wrong_ones_are_refused() {
        for other in [
            json!({ "type": "text", "text": "hello" }),
            json!({ "type": "artifact", "artifact": { "subtype": "artifact_update" } }),
            json!("text"),
        ] {
            assert_eq!(ToolPayload::parse(&other), Ok(None), "{other}");
        }
        let mut nameless = call();
        nameless["artifact"]["tool_name"] = json!(7);
        assert!(ToolPayload::parse(&nameless).is_err());
        let mixed = ToolResponseArtifact {
            call_id: "call_abc123".to_owned(),
            status: ToolStatus::Ok,
            result: None,
            reason: Some(DenialReason::UserRefused),
            error_code: None,
        };
        assert!(<(CallId, ToolOutcome)>::try_from(mixed).is_err());
    }
}
