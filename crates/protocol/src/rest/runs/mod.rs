//! Runs and their events.

pub mod bundle;
pub mod commands;
pub mod diff;
pub mod event_payloads;
pub mod event_union;
pub mod policy;
pub mod workspace;

use guildhall_domain::runs::event::Usage;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use event_union::RunEvent;
use policy::{ExecutionPolicyRequest, ExecutionPolicyView};
use workspace::WorkspaceRef;

/// A run to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateRun {
    /// Id or slug of one of your tenants.
    #[schema(example = "acme", min_length = 1, max_length = 64)]
    pub tenant_id: String,
    /// Slug of a project, or another name that the tenant's policy allows.
    #[schema(example = "acme/web", min_length = 1, max_length = 200)]
    pub project_id: String,
    /// The workspace of the agent.
    #[schema(value_type = WorkspaceRef, example = json!({ "kind": "empty" }))]
    pub workspace_ref: Value,
    #[schema(example = "local", min_length = 1, max_length = 64)]
    pub provider_id: String,
    /// Slug of a backend profile: `demo`, `codex`, or one of your own.
    #[schema(example = "demo", min_length = 1, max_length = 40, pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
    pub backend_profile: String,
    /// The execution policy. By default everything is filled in.
    #[schema(value_type = Option<ExecutionPolicyRequest>, example = json!({ "sandbox": "read-only" }))]
    pub execution_policy: Option<Value>,
    /// Name of a configured trace sink, or null.
    #[serde(deserialize_with = "required_value")]
    #[schema(value_type = Option<String>, required)]
    pub trace_sink: Value,
    /// The session to continue. By default a new session is created.
    pub session_ref: Option<SessionRef>,
    /// Makes a retry safe, like the header `Idempotency-Key`. If both are sent, they must be equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")]
    pub idempotency_key: Option<String>,
}

/// The field is required; null is a valid value.
fn required_value<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Value::deserialize(deserializer)
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionRef {
    #[schema(example = "ses_01920000000070008000000000000000")]
    pub session_id: Option<String>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    #[schema(example = "run_01920000000070008000000000000000")]
    pub run_id: String,
    pub tenant_id: String,
    #[serde(default)]
    #[schema(example = "acme")]
    pub tenant_slug: String,
    pub session_id: String,
    /// The first words of the first turn.
    #[serde(default)]
    #[schema(example = "fix the failing test")]
    pub title: Option<String>,
    pub project_id: String,
    #[schema(value_type = WorkspaceRef)]
    pub workspace_ref: Value,
    pub provider_id: String,
    pub backend_profile: String,
    #[schema(value_type = ExecutionPolicyView)]
    pub execution_policy: Value,
    pub trace_sink: Option<String>,
    /// pending, claimed, running, cancelling, completed, failed, blocked or cancelled.
    #[schema(example = "pending")]
    pub status: String,
    pub terminal_status: Option<String>,
    pub failure_kind: Option<String>,
    pub message: Option<String>,
    pub created_by: String,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub last_seq: i64,
    /// Ids of the open commands, in order.
    pub open_command_ids: Vec<String>,
    pub lease: Option<LeaseView>,
    pub liveness: LivenessView,
    pub usage: UsageView,
}

/// The lease of a run: its holder and its expiry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseView {
    pub runner_id: String,
    /// The attempt of the runner job that started the runner, or else one of its own.
    #[schema(example = "atp_01920000000070008000000000000000")]
    pub attempt_id: Option<String>,
    pub epoch: i64,
    pub expires_at: Timestamp,
}

/// Liveness of a run or command: what it waits for, what happens next and what you can do. Computed on request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LivenessView {
    /// waiting-runner, waiting-model, waiting-tool, waiting-approval, idle-after-tool, transport-disconnected,
    /// runner-heartbeat-stale, idle or terminal.
    #[schema(example = "waiting-runner")]
    pub phase: String,
    pub active: bool,
    pub last_seq: i64,
    /// Age of the last event of the run. Only in results.
    pub last_event_age_ms: Option<i64>,
    /// The last event of the command. Only in results of commands.
    pub last_command_activity: Option<CommandActivityView>,
    /// The lease of the runner; null if no runner holds the run.
    pub lease: Option<LeaseView>,
    /// The heartbeat of the runner; null if no runner holds the run.
    pub heartbeat: Option<HeartbeatView>,
    /// The next automatic step.
    pub next_step: String,
    pub next_step_at: Option<Timestamp>,
    /// Actions that you can take now.
    pub recovery_actions: Vec<ActionView>,
    /// A summary in one sentence, for people.
    pub sentence: String,
}

/// The last event of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandActivityView {
    pub seq: i64,
    /// Type of the event.
    #[schema(example = "tool_call")]
    pub r#type: String,
    pub at: Timestamp,
    pub age_ms: i64,
}

/// The last heartbeat of a runner. Appended events count as heartbeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatView {
    /// When the lease was last renewed.
    pub last_at: Timestamp,
    pub age_ms: i64,
    /// Whether the lease has expired.
    pub stale: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionView {
    #[schema(example = "start-runner")]
    pub action: String,
    pub about: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageView {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    pub active_ms: u64,
    pub tool_calls: u64,
}

impl From<Usage> for UsageView {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            output_tokens: usage.output_tokens,
            active_ms: usage.active_ms,
            tool_calls: usage.tool_calls,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunsView {
    pub runs: Vec<RunView>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// Query parameters of the run list.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct RunsQuery {
    /// Id or slug of one of your tenants.
    #[param(example = "acme")]
    pub tenant_id: String,
    /// open (default) or all.
    #[param(pattern = "^(open|all)$")]
    pub state: Option<String>,
    #[param(pattern = "^run_[0-9a-f]{32}$")]
    pub cursor: Option<String>,
    #[serde(default = "default_run_limit")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
}

/// Query parameters of a page of events.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct EventsQuery {
    /// Return events after this sequence number.
    #[serde(default)]
    #[param(minimum = 0)]
    pub after_seq: i64,
    #[serde(default = "default_event_limit")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: u32,
}

fn default_run_limit() -> u32 {
    50
}

pub(crate) fn default_event_limit() -> u32 {
    100
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventView {
    /// Version of the event format.
    pub v: u32,
    pub seq: i64,
    /// One of the types of Guildhall, or another type of the backend.
    #[schema(example = "assistant_message")]
    pub r#type: String,
    /// The runner's event id; null for events of the server.
    pub event_id: Option<String>,
    pub command_id: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Value>,
    /// Whether the payload was erased. The sequence number is kept.
    pub erased: bool,
    /// Whether the event arrived after its command had ended. Results ignore a late event.
    #[serde(default)]
    pub late: bool,
    pub recorded_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsView {
    pub run_id: Option<String>,
    #[schema(value_type = Vec<RunEvent>)]
    pub events: Vec<EventView>,
    /// The last sequence number of the run.
    pub last_seq: i64,
    /// The `afterSeq` of the next page.
    pub next_after_seq: i64,
    pub has_more: bool,
}

/// Confirms that the content of an event was erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErasedEventView {
    pub run_id: String,
    pub seq: i64,
    /// Always true.
    pub erased: bool,
}
