//! Pipelines in requests and responses. The rules are in `domain`.

use utoipa::ToSchema;

/// How turns are done: a router picks a worker for each message. At most 64 KiB.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PipelineBody {
    /// At most 16, each with a name of its own.
    #[schema(required = false, max_items = 16)]
    pub workers: Vec<WorkerBody>,
    /// What the agent is told with each turn.
    #[schema(required = false, max_items = 32)]
    pub context: Vec<ContextEntryBody>,
    /// Tools that the agent may ask to use. A question about another tool is denied without asking people. Omitted: all.
    #[schema(required = false, max_items = 64)]
    pub enabled_tools: Vec<String>,
}

/// What a worker is told, and which turns it is for.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerBody {
    #[schema(example = "code", min_length = 2, max_length = 40, pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
    pub name: String,
    /// The router picks the first worker with a keyword that the message contains. A worker without keywords takes what
    /// no other takes.
    #[schema(required = false, max_items = 32, example = json!(["bug", "pull request"]))]
    pub keywords: Vec<String>,
    /// What the agent is told with each turn of this worker.
    #[schema(required = false, example = "Write a test first.", min_length = 1, max_length = 32768)]
    pub instructions: String,
}

/// A fact for the agent.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextEntryBody {
    #[schema(example = "Team", min_length = 1, max_length = 200)]
    pub description: String,
    #[schema(example = "web", max_length = 8192)]
    pub value: String,
}
