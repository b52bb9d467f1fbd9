//! Messages of a `RunAgentInput`, by role.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::content::{AgentRunContent, parse_content};
use super::error::AgentRunInputError;
use super::fields::Fields;

/// A message of any role, with the content of a user message not checked yet.
pub(super) enum AgentRunMessage {
    User { id: String, name: Option<String>, encrypted_value: Option<String>, content: AgentRunContent },
    Other(OtherMessage),
}

/// A message that is not the user's. It is kept as context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum OtherMessage {
    Assistant(AgentAssistantMessage),
    System(AgentSystemMessage),
    Tool(AgentToolMessage),
    Developer(AgentDeveloperMessage),
    Reasoning(AgentReasoningMessage),
    Activity(AgentActivityMessage),
}

/// A reply of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentAssistantMessage {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub tool_calls: Vec<AgentToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<String>,
}

/// A call of a tool by the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentToolCall {
    pub id: String,
    pub r#type: AgentToolCallType,
    pub function: AgentToolCallFunction,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<String>,
}

/// The kind of a tool call: always `function`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentToolCallType {
    Function,
}

/// The function of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentToolCallFunction {
    pub name: String,
    /// JSON, as text.
    pub arguments: String,
}

/// An instruction of the application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSystemMessage {
    pub id: String,
    pub content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<String>,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentToolMessage {
    pub id: String,
    pub content: String,
    pub tool_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<String>,
}

/// An instruction of the developer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentDeveloperMessage {
    pub id: String,
    pub content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<String>,
}

/// The reasoning of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentReasoningMessage {
    pub id: String,
    pub content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<String>,
}

/// A progress update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentActivityMessage {
    pub id: String,
    pub activity_type: String,
    #[schema(value_type = Object)]
    pub content: Map<String, Value>,
}

/// Parses a message at `path`.
///
/// The protocol gives only the role of developer, reasoning and activity messages: their fields are those of AG-UI.
pub(super) fn parse_message(path: &str, value: Value) -> Result<AgentRunMessage, AgentRunInputError> {
    let mut fields = Fields::new(path, value)?;
    let role = fields.string("role")?;
    let id = fields.string("id")?;
    let message = match role.as_str() {
        "user" => {
            let name = fields.optional_string("name")?;
            let encrypted_value = fields.optional_string("encryptedValue")?;
            let content = parse_content(&fields.path_of("content"), fields.take("content")?)?;
            return Ok(AgentRunMessage::User { id, name, encrypted_value, content });
        }
        "assistant" => OtherMessage::Assistant(assistant(id, &mut fields)?),
        "system" => OtherMessage::System(AgentSystemMessage {
            id,
            content: fields.string("content")?,
            name: fields.optional_string("name")?,
            encrypted_value: fields.optional_string("encryptedValue")?,
        }),
        "tool" => OtherMessage::Tool(AgentToolMessage {
            id,
            content: fields.string("content")?,
            tool_call_id: fields.string("toolCallId")?,
            error: fields.optional_string("error")?,
            encrypted_value: fields.optional_string("encryptedValue")?,
        }),
        "developer" => OtherMessage::Developer(AgentDeveloperMessage {
            id,
            content: fields.string("content")?,
            name: fields.optional_string("name")?,
            encrypted_value: fields.optional_string("encryptedValue")?,
        }),
        "reasoning" => OtherMessage::Reasoning(AgentReasoningMessage {
            id,
            content: fields.string("content")?,
            encrypted_value: fields.optional_string("encryptedValue")?,
        }),
        "activity" => OtherMessage::Activity(AgentActivityMessage {
            id,
            activity_type: fields.string("activityType")?,
            content: fields.object("content")?,
        }),
        _ => return Err(fields.expected("role", ROLES)),
    };
    Ok(AgentRunMessage::Other(message))
}

const ROLES: &str = "user, assistant, system, tool, developer, reasoning or activity";

fn assistant(id: String, fields: &mut Fields) -> Result<AgentAssistantMessage, AgentRunInputError> {
    let content = fields.optional_string("content")?;
    let name = fields.optional_string("name")?;
    let encrypted_value = fields.optional_string("encryptedValue")?;
    let calls = fields.optional_array("toolCalls")?.unwrap_or_default();
    let tool_calls = calls
        .into_iter()
        .enumerate()
        .map(|(index, call)| tool_call(&format!("{}[{index}]", fields.path_of("toolCalls")), call))
        .collect::<Result<_, _>>()?;
    Ok(AgentAssistantMessage { id, content, name, tool_calls, encrypted_value })
}

fn tool_call(path: &str, value: Value) -> Result<AgentToolCall, AgentRunInputError> {
    let mut fields = Fields::new(path, value)?;
    let id = fields.string("id")?;
    if fields.string("type")? != "function" {
        return Err(fields.expected("type", "function"));
    }
    let encrypted_value = fields.optional_string("encryptedValue")?;
    let mut function = Fields::new(fields.path_of("function"), fields.object("function")?.into())?;
    let function =
        AgentToolCallFunction { name: function.string("name")?, arguments: function.string("arguments")? };
    Ok(AgentToolCall { id, r#type: AgentToolCallType::Function, function, encrypted_value })
}
