//! AG-UI events that we send.
//!
//! Official clients end a run at a null, at a value of the wrong type and, before 1.0, at an unknown event. So absent
//! fields are left out, and [`without_nulls`] removes nulls from free JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::user_content::UserContent;

/// The version of AG-UI that a client understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AguiVersion {
    /// 1.0: a cancelled run is an outcome.
    V1,
    /// 0.0.5x, which CopilotKit has: a cancelled run is an error with the code `cancelled`.
    V0,
}

impl AguiVersion {
    /// Returns the version of a client by the `protocolVersion` of its input.
    #[must_use]
    pub fn of(protocol_version: Option<&str>) -> Self {
        match protocol_version {
            None => Self::V0,
            Some(version) if version.starts_with("0.") => Self::V0,
            Some(_) => Self::V1,
        }
    }

    /// Returns the version that a `RUN_STARTED` names.
    #[must_use]
    pub const fn protocol_version(self) -> Option<&'static str> {
        match self {
            Self::V1 => Some("1.0"),
            Self::V0 => None,
        }
    }
}

/// An event of AG-UI.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub enum AguiEvent {
    RunStarted {
        thread_id: String,
        run_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        protocol_version: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_run_id: Option<String>,
        /// Clients add its messages to theirs, unless they have them.
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<RunInput>,
    },
    RunFinished {
        thread_id: String,
        run_id: String,
        outcome: RunOutcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<TokenUsage>,
    },
    RunError {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<TokenUsage>,
    },
    StepStarted {
        step_name: String,
    },
    StepFinished {
        step_name: String,
    },
    TextMessageStart {
        message_id: String,
        role: TextRole,
    },
    TextMessageContent {
        message_id: String,
        delta: String,
    },
    TextMessageEnd {
        message_id: String,
    },
    ToolCallStart {
        tool_call_id: String,
        tool_call_name: String,
    },
    ToolCallArgs {
        tool_call_id: String,
        delta: String,
    },
    ToolCallEnd {
        tool_call_id: String,
    },
    ToolCallResult {
        message_id: String,
        tool_call_id: String,
        content: String,
        role: ToolRole,
    },
    ReasoningStart {
        message_id: String,
    },
    ReasoningMessageStart {
        message_id: String,
        role: ReasoningRole,
    },
    ReasoningMessageContent {
        message_id: String,
        delta: String,
    },
    ReasoningMessageEnd {
        message_id: String,
    },
    ReasoningEnd {
        message_id: String,
    },
    MessagesSnapshot {
        messages: Vec<Message>,
    },
    ActivitySnapshot {
        message_id: String,
        activity_type: String,
        content: BTreeMap<String, Value>,
    },
    Custom {
        name: String,
        value: Value,
    },
}

/// How a run ended without a failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum RunOutcome {
    Success,
    /// The run waits for answers. The run that has them is the next one.
    Interrupt {
        interrupts: Vec<Interrupt>,
    },
    /// Only in [`AguiVersion::V1`].
    Cancelled,
}

/// A question that ends a run until it is answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Interrupt {
    /// The id of the approval.
    pub id: String,
    pub reason: InterruptReason,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The JSON schema of the answer's payload.
    pub response_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The whole question, for readers who may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptReason {
    ToolCall,
    InputRequired,
    Confirmation,
}

/// Tokens of a run. The cached ones are a part of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_input_tokens: u64,
}

/// The input that a run was started with, as far as it is repeated.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunInput {
    pub thread_id: String,
    pub run_id: String,
    pub messages: Vec<Message>,
    /// Tools of the front end. No agent gets them.
    pub tools: Vec<Value>,
    /// Empty: clients before 1.0 require it.
    pub context: Vec<Value>,
}

impl RunInput {
    /// Returns the input of a run; none if there is nothing to repeat.
    #[must_use]
    pub fn new(thread: &str, run: &str, messages: Vec<Message>, tools: Vec<Value>) -> Option<Self> {
        let (thread_id, run_id, context) = (thread.to_owned(), run.to_owned(), Vec::new());
        let is_empty = messages.is_empty() && tools.is_empty();
        (!is_empty).then_some(Self { thread_id, run_id, messages, tools, context })
    }
}

/// A message in a list of messages.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Message {
    User { id: String, content: UserContent },
    Assistant { id: String, content: String },
}

impl Message {
    /// Returns the URLs of its images, which the server signs for each reader.
    pub fn image_urls(&mut self) -> impl Iterator<Item = &mut String> {
        let content = match self {
            Self::User { content, .. } => Some(content),
            Self::Assistant { .. } => None,
        };
        content.into_iter().flat_map(UserContent::image_urls)
    }
}

/// Constant words of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TextRole {
    Assistant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolRole {
    Tool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReasoningRole {
    Reasoning,
}

impl AguiEvent {
    /// Returns whether it ends a run.
    #[must_use]
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::RunFinished { .. } | Self::RunError { .. })
    }
}

/// Returns a value without nulls at any depth; a null itself becomes an empty object.
#[must_use]
pub fn without_nulls(value: Value) -> Value {
    match value {
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.into_iter().filter(|item| !item.is_null()).map(without_nulls).collect(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
