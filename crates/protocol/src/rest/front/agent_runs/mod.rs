//! The body of `POST /api/v1/agent/runs`: `RunAgentInput` of the Agent Run Input Protocol 1.0.
//!
//! [`parse`] checks in this order, and reports the first error:
//! 1. the size of the payload
//! 2. JSON, and that it is an object
//! 3. `threadId`
//! 4. `runId`
//! 5. the number of messages
//! 6. the form of each message
//! 7. the length of the user's text
//! 8. `forwardedProps`: `runtime_mode`, further fields, then `client_time` field by field
//! 9. exactly one user message
//! 10. the user message is the first
//! 11. each binary block: `mimeType`, `data`, `url`
//! 12. the number of attachments
//! 13. the form of `parentRunId`, `tools` and `context`
//!
//! It is the order of the protocol's table of rules, with the checks of form between them, and `data` before `url`.
//!
//! Where the protocol leaves a choice:
//! - **Names** are camelCase or snake_case, also mixed. A field in both spellings is an error, not one of the two.
//! - **Unknown fields** are ignored: AG-UI clients send more, such as `protocolVersion`, and the protocol forbids
//!   further fields in `forwardedProps` alone.
//! - **null** counts as absent. `state` is optional, as in the schema of the protocol; absent, it is null.
//! - **A name twice** in one object is an error, because readers of JSON disagree on its value.
//! - **Empty** `runId` and `url` count as absent: both are required to refer to something.
//! - **Characters** are Unicode scalar values, and 256 KB are 256 × 1024 bytes.

mod content;
mod error;
mod fields;
mod forwarded_props;
#[cfg(test)]
mod fuzz_tests;
mod json;
mod messages;
#[cfg(test)]
mod rule_tests;
mod schemas;
#[cfg(test)]
mod shape_tests;

pub use content::{AgentAttachment, MAX_ATTACHMENTS, MAX_USER_TEXT_CHARS};
pub use error::{AgentRunInputError, ShapeProblem};
pub use forwarded_props::parse_client_time;
pub use messages::{
    AgentActivityMessage, AgentAssistantMessage, AgentDeveloperMessage, AgentReasoningMessage,
    AgentSystemMessage, AgentToolCall, AgentToolCallFunction, AgentToolCallType, AgentToolMessage,
    OtherMessage,
};
pub use schemas::{
    AgentBinaryBlock, AgentContentBlock, AgentContext, AgentMessage, AgentTextBlock, AgentTool,
    AgentUserContent, AgentUserMessage, ClientTimeBody, ForwardedProps, RunAgentInput, RuntimeModeBody,
};

use guildhall_domain::front::RuntimeMode;
use guildhall_domain::front::client_time::ClientTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use fields::Fields;
use forwarded_props::parse_forwarded_props;
use messages::{AgentRunMessage, parse_message};

/// Bytes of a body.
pub const MAX_PAYLOAD_BYTES: usize = 256 * 1024;

/// Characters of a run id.
pub const MAX_RUN_ID_CHARS: usize = 128;

/// Messages of a body.
pub const MAX_MESSAGES: usize = 200;

/// A valid `RunAgentInput`.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRunInput {
    pub thread_id: Uuid,
    /// Chosen by the client.
    pub run_id: String,
    pub parent_run_id: Option<String>,
    /// Any JSON; null if absent.
    pub state: Value,
    pub user_message: UserMessage,
    /// What follows the user message, in order.
    pub other_messages: Vec<OtherMessage>,
    /// Tools of the front end, as they came. They are stored and replayed, and never register a tool of the server.
    pub tools: Vec<Value>,
    /// Context of the front end, as it came.
    pub context: Vec<Value>,
    pub runtime_mode: RuntimeMode,
    pub client_time: Option<ClientTime>,
}

/// The user message of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserMessage {
    pub id: String,
    pub name: Option<String>,
    pub encrypted_value: Option<String>,
    /// The text; text blocks are joined by line breaks. It can be empty.
    pub text: String,
    pub attachments: Vec<AgentAttachment>,
}

/// Query parameters of a new run.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NewAgentRunQuery {
    /// Id or slug of the tenant. Optional for service keys, which belong to one tenant.
    #[param(min_length = 1, max_length = 64)]
    pub tenant_id: Option<String>,
    /// Id or slug of the agent. By default the default agent of the tenant, or that of the automation.
    #[param(example = "helper", min_length = 1, max_length = 64)]
    pub agent_id: Option<String>,
    /// Id or slug of the automation: required with `runtime_mode` `automation`, and only with it.
    #[param(example = "daily-report", min_length = 1, max_length = 64)]
    pub automation_id: Option<String>,
}

/// Query parameters of a thread.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AgentRunsQuery {
    /// Id or slug of the tenant. Optional for service keys, which belong to one tenant.
    #[param(min_length = 1, max_length = 64)]
    pub tenant_id: Option<String>,
    /// Id or slug of the agent. By default the default agent of the tenant.
    #[param(example = "helper", min_length = 1, max_length = 64)]
    pub agent_id: Option<String>,
    /// Keep the stream open while the agent waits for an answer: the rest of the turn follows, wherever it is answered.
    #[serde(default)]
    pub wait_for_answers: bool,
}

/// Query parameters of a stop.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StopAgentRunsQuery {
    /// Id or slug of the tenant. Optional for service keys, which belong to one tenant.
    #[param(min_length = 1, max_length = 64)]
    pub tenant_id: Option<String>,
    /// Id or slug of the agent. By default the default agent of the tenant.
    #[param(example = "helper", min_length = 1, max_length = 64)]
    pub agent_id: Option<String>,
    /// The client's id of one run. By default all.
    #[param(min_length = 1, max_length = 128)]
    pub run_id: Option<String>,
}

/// Tells whether a run was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoppedView {
    pub stopped: bool,
}

/// Confirms that a run was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskAcceptedResponse {
    pub task_id: String,
    /// As in the request.
    #[schema(example = "550e8400-e29b-41d4-a716-446655440000")]
    pub thread_id: String,
    /// As in the request.
    #[schema(example = "run-001")]
    pub run_id: String,
    /// Whether the thread is new.
    pub created: bool,
}

/// Parses a body. See the module for the order of the checks.
pub fn parse(bytes: &[u8]) -> Result<AgentRunInput, AgentRunInputError> {
    if bytes.len() > MAX_PAYLOAD_BYTES {
        return Err(AgentRunInputError::PayloadTooLarge);
    }
    let mut fields = Fields::new("", json::parse(bytes)?)?;
    let thread_id = parse_thread_id(fields.take("threadId")?.as_ref())?;
    let run_id = parse_run_id(&mut fields)?;
    let messages = parse_messages(&mut fields)?;
    let (runtime_mode, client_time) = parse_forwarded_props(fields.take("forwardedProps")?)?;
    let (user_message, other_messages) = split_messages(messages)?;
    Ok(AgentRunInput {
        thread_id,
        run_id,
        user_message,
        other_messages,
        runtime_mode,
        client_time,
        parent_run_id: fields.optional_string("parentRunId")?,
        state: fields.take("state")?.unwrap_or_default(),
        tools: checked_items(&mut fields, "tools", check_tool)?,
        context: checked_items(&mut fields, "context", check_context)?,
    })
}

fn parse_thread_id(value: Option<&Value>) -> Result<Uuid, AgentRunInputError> {
    let id = value.and_then(Value::as_str).and_then(parse_hyphenated_uuid);
    id.ok_or(AgentRunInputError::ThreadIdNotUuid)
}

/// Parses the form with hyphens of RFC 9562, in any case. `uuid` also takes others.
fn parse_hyphenated_uuid(text: &str) -> Option<Uuid> {
    (text.len() == uuid::fmt::Hyphenated::LENGTH).then(|| Uuid::try_parse(text).ok())?
}

fn parse_run_id(fields: &mut Fields) -> Result<String, AgentRunInputError> {
    let run_id = fields.string("runId")?;
    if run_id.is_empty() {
        return Err(fields.expected("runId", "1 to 128 characters"));
    }
    if run_id.chars().count() > MAX_RUN_ID_CHARS { Err(AgentRunInputError::RunIdTooLong) } else { Ok(run_id) }
}

/// Parses the messages and checks their number and the length of user texts.
fn parse_messages(fields: &mut Fields) -> Result<Vec<AgentRunMessage>, AgentRunInputError> {
    let values = fields.optional_array("messages")?.ok_or_else(|| fields.expected("messages", "an array"))?;
    if values.len() > MAX_MESSAGES {
        return Err(AgentRunInputError::TooManyMessages);
    }
    let mut messages = Vec::with_capacity(values.len());
    for (index, value) in values.into_iter().enumerate() {
        messages.push(parse_message(&format!(".messages[{index}]"), value)?);
    }
    for message in &messages {
        match message {
            AgentRunMessage::User { content, .. } => content.check_text()?,
            AgentRunMessage::Other(_) => {}
        }
    }
    Ok(messages)
}

/// Returns the user message and the others.
fn split_messages(
    messages: Vec<AgentRunMessage>,
) -> Result<(UserMessage, Vec<OtherMessage>), AgentRunInputError> {
    let users = messages.iter().filter(|message| matches!(message, AgentRunMessage::User { .. })).count();
    if users != 1 {
        return Err(AgentRunInputError::NotOneUserMessage);
    }
    let mut messages = messages.into_iter();
    let Some(AgentRunMessage::User { id, name, encrypted_value, content }) = messages.next() else {
        return Err(AgentRunInputError::FirstMessageNotUser);
    };
    let (text, attachments) = content.into_parts()?;
    let others = messages.filter_map(|message| match message {
        AgentRunMessage::User { .. } => None,
        AgentRunMessage::Other(other) => Some(other),
    });
    Ok((UserMessage { id, name, encrypted_value, text, attachments }, others.collect()))
}

/// Takes an optional array and checks the form of its items, which stay as they came.
fn checked_items(
    fields: &mut Fields,
    name: &str,
    check: fn(&mut Fields) -> Result<(), AgentRunInputError>,
) -> Result<Vec<Value>, AgentRunInputError> {
    let items = fields.optional_array(name)?.unwrap_or_default();
    for (index, item) in items.iter().enumerate() {
        check(&mut Fields::new(format!(".{name}[{index}]"), item.clone())?)?;
    }
    Ok(items)
}

fn check_tool(tool: &mut Fields) -> Result<(), AgentRunInputError> {
    tool.string("name")?;
    tool.string("description")?;
    tool.object("parameters").map(|_| ())
}

fn check_context(context: &mut Fields) -> Result<(), AgentRunInputError> {
    context.string("description")?;
    context.string("value").map(|_| ())
}
