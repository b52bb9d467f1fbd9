//! The schema of `RunAgentInput`, for the API document.
//!
//! The server parses the body with [`super::parse`], which has further rules: those over several messages, and the
//! snake_case spelling of each name.

use serde_json::{Map, Value};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::messages::{
    AgentActivityMessage, AgentAssistantMessage, AgentDeveloperMessage, AgentReasoningMessage,
    AgentSystemMessage, AgentToolMessage,
};
use crate::tagged_union::{NamedSchemas, TaggedUnion};

/// A run of an agent. At most 256 KB. Names can also be in snake_case, such as `thread_id`; other fields are ignored.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAgentInput {
    /// The conversation: a UUID that the client chooses.
    #[schema(
        example = "550e8400-e29b-41d4-a716-446655440000",
        pattern = "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"
    )]
    pub thread_id: String,
    #[schema(example = "run-001", min_length = 1, max_length = 128)]
    pub run_id: String,
    pub parent_run_id: Option<String>,
    /// Any JSON.
    #[schema(required = false)]
    pub state: Value,
    /// Exactly one user message, which is the first.
    #[schema(min_items = 1, max_items = 200)]
    pub messages: Vec<AgentMessage>,
    /// Tools of the front end, for approvals and replay. They do not register or select tools of the server.
    pub tools: Option<Vec<AgentTool>>,
    pub context: Option<Vec<AgentContext>>,
    pub forwarded_props: ForwardedProps,
}

/// A message, by role.
#[derive(Debug)]
pub struct AgentMessage;

fn roles() -> TaggedUnion {
    TaggedUnion::new("role")
        .variant::<AgentUserMessage>("user")
        .variant::<AgentAssistantMessage>("assistant")
        .variant::<AgentSystemMessage>("system")
        .variant::<AgentToolMessage>("tool")
        .variant::<AgentDeveloperMessage>("developer")
        .variant::<AgentReasoningMessage>("reasoning")
        .variant::<AgentActivityMessage>("activity")
}

impl PartialSchema for AgentMessage {
    fn schema() -> RefOr<Schema> {
        roles().schema("A message, by `role`.")
    }
}

impl ToSchema for AgentMessage {
    fn schemas(schemas: &mut NamedSchemas) {
        roles().schemas(schemas);
    }
}

/// What the user asks.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentUserMessage {
    pub id: String,
    pub content: AgentUserContent,
    pub name: Option<String>,
    pub encrypted_value: Option<String>,
}

/// A text, or blocks of text and images. At most 10,000 characters of text and 3 images.
#[derive(Debug)]
pub struct AgentUserContent;

impl PartialSchema for AgentUserContent {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(SchemaType::new(Type::String)).max_length(Some(10_000));
        let blocks = ArrayBuilder::new().items(Ref::from_schema_name(AgentContentBlock::name()));
        let description =
            "A text, or blocks of text and images. At most 10,000 characters of text and 3 images.";
        OneOfBuilder::new().item(text).item(blocks).description(Some(description)).into()
    }
}

impl ToSchema for AgentUserContent {
    fn schemas(schemas: &mut NamedSchemas) {
        schemas.push((AgentContentBlock::name().into_owned(), AgentContentBlock::schema()));
        AgentContentBlock::schemas(schemas);
    }
}

/// A part of a user message, by type.
#[derive(Debug)]
pub struct AgentContentBlock;

fn blocks() -> TaggedUnion {
    TaggedUnion::new("type").variant::<AgentTextBlock>("text").variant::<AgentBinaryBlock>("binary")
}

impl PartialSchema for AgentContentBlock {
    fn schema() -> RefOr<Schema> {
        blocks().schema("A part of a user message, by `type`.")
    }
}

impl ToSchema for AgentContentBlock {
    fn schemas(schemas: &mut NamedSchemas) {
        blocks().schemas(schemas);
    }
}

/// Text of a user message.
#[derive(Debug, ToSchema)]
pub struct AgentTextBlock {
    #[schema(max_length = 10_000)]
    pub text: String,
}

/// An image of a user message. Its bytes are not allowed in the body (`data`).
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentBinaryBlock {
    #[schema(example = "image/png", pattern = "^[Ii][Mm][Aa][Gg][Ee]/[A-Za-z0-9]")]
    pub mime_type: String,
    pub id: Option<String>,
    /// A signed URL of `/api/v1/agent/attachments`.
    #[schema(min_length = 1)]
    pub url: String,
    pub filename: Option<String>,
}

/// A tool of the front end.
#[derive(Debug, ToSchema)]
pub struct AgentTool {
    #[schema(example = "get_weather")]
    pub name: String,
    pub description: String,
    /// A JSON Schema.
    #[schema(value_type = Object)]
    pub parameters: Map<String, Value>,
}

/// A fact of the front end.
#[derive(Debug, ToSchema)]
pub struct AgentContext {
    pub description: String,
    pub value: String,
}

/// The mode of the run and the time of the device. Nothing else is allowed, and these names have one spelling.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForwardedProps {
    pub runtime_mode: RuntimeModeBody,
    pub client_time: Option<ClientTimeBody>,
}

/// Where the tools and the context of the run come from: the agent, or a stored automation.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuntimeModeBody {
    Chat,
    Automation,
}

/// The time of the device.
#[derive(Debug, ToSchema)]
pub struct ClientTimeBody {
    /// A name of the IANA time zone database.
    #[schema(example = "America/Los_Angeles")]
    pub device_timezone: String,
    /// RFC 3339, with an offset.
    #[schema(example = "2026-03-16T09:12:33-07:00")]
    pub client_now_iso: String,
    /// Milliseconds since 1970.
    #[schema(example = 1_773_658_353_000_i64)]
    pub client_epoch_ms: i64,
}
