//! Commands and their results.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{LivenessView, UsageView};

/// A command to create. The text of a turn or steer is the `prompt`, `message` or `text` of `payload`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateCommand {
    /// turn, steer or interrupt.
    #[schema(example = "turn", pattern = "^(turn|steer|interrupt)$")]
    pub r#type: String,
    #[serde(default)]
    #[schema(value_type = Object, example = json!({ "prompt": "tidy my notes" }))]
    pub payload: Value,
    /// Makes a retry safe, like the header `Idempotency-Key`. If both are sent, they must be equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandView {
    #[schema(example = "cmd_01920000000070008000000000000000")]
    pub command_id: String,
    pub run_id: String,
    /// Sequence number among the commands of the run.
    pub seq: i32,
    pub r#type: String,
    #[schema(value_type = Object)]
    pub payload: Value,
    /// The turn that a steer or interrupt refers to.
    pub target_command_id: Option<String>,
    /// pending, running, completed, failed, blocked or cancelled.
    #[schema(example = "pending")]
    pub status: String,
    pub terminal_status: Option<String>,
    pub cancel_requested: bool,
    pub failure_kind: Option<String>,
    pub message: Option<String>,
    pub created_by: String,
    pub created_at: Timestamp,
    pub acked_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// Commands of a run, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandsView {
    pub commands: Vec<CommandView>,
    /// `afterSeq` of the next page; null on the last page.
    pub next_after_seq: Option<i32>,
}

/// Query parameters of the list of commands.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct CommandsQuery {
    /// Only commands with a higher `seq`.
    #[serde(default)]
    #[param(minimum = 0)]
    pub after_seq: i32,
    #[serde(default = "default_command_limit")]
    #[param(minimum = 1, maximum = 100, default = 50)]
    pub limit: u32,
}

fn default_command_limit() -> u32 {
    50
}

/// Query parameters of a result.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ResultQuery {
    /// A command of the run. Defaults to the newest.
    #[param(pattern = "^cmd_[0-9a-f]{32}$")]
    pub command_id: Option<String>,
}

/// The result of a command, or of a run without commands. Its cost does not depend on the length of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultView {
    pub run_id: String,
    pub session_id: String,
    pub command_id: Option<String>,
    /// The attempt that runs or ran the command. Equal to the `attemptId` of the runner job that started the runner.
    #[schema(example = "atp_01920000000070008000000000000000")]
    pub attempt_id: Option<String>,
    pub status: String,
    pub terminal_status: Option<String>,
    /// True only for the terminal status `completed`.
    pub completed: bool,
    /// Source of the terminal status: terminal_status (an event), record or none.
    pub terminal_source: String,
    /// The reply of the agent; null until completed.
    pub reply: Option<String>,
    pub final_response: Option<FinalResponseView>,
    pub final_assistant_seq: Option<i64>,
    pub final_assistant_source: Option<String>,
    pub final_assistant_text_truncated: bool,
    pub final_assistant_output_truncated: bool,
    pub failure_kind: Option<String>,
    pub blocker: Option<String>,
    pub last_seq: i64,
    pub event_count: u64,
    /// Whether events were omitted. Always false, because events are counted when they are appended.
    pub events_capped: bool,
    pub next_after_seq: i64,
    pub scoped_last_seq: i64,
    pub scoped_event_count: u64,
    pub artifact_summary: ArtifactSummaryView,
    pub tool_call_summary: ToolCallSummaryView,
    pub usage: UsageView,
    pub liveness: LivenessView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steer_delivery: Option<SteerDeliveryView>,
}

/// The message selected as the reply, and how it was selected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FinalResponseView {
    pub seq: i64,
    /// authority (the backend marked it as the reply) or fallback (the last message with text).
    #[schema(example = "authority")]
    pub source: String,
    pub reply_authority: bool,
    pub r#final: bool,
    pub text_truncated: bool,
    pub output_truncated: bool,
    /// Null if erased.
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactSummaryView {
    pub count: u64,
    pub bytes: u64,
    pub truncated: bool,
    pub output_count: u64,
    pub output_bytes: u64,
    pub output_truncated: bool,
    /// The last ten items.
    #[schema(value_type = Vec<Object>)]
    pub items: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallSummaryView {
    pub count: u64,
    pub running: usize,
    pub status_counts: std::collections::BTreeMap<String, u64>,
    pub exit_code_counts: std::collections::BTreeMap<String, u64>,
    /// The last ten ended tool calls.
    pub items: Vec<ToolCallView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallView {
    pub seq: i64,
    pub method: Option<String>,
    pub tool_name: Option<String>,
    pub r#type: Option<String>,
    pub status: Option<String>,
    pub exit_code: Option<i64>,
    /// At most 200 characters.
    pub command: Option<String>,
}

/// Delivery state of a steer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SteerDeliveryView {
    pub target_command_id: Option<String>,
    pub acked_by_runner: bool,
    /// The backend accepted it for the turn.
    pub accepted_by_backend: bool,
    /// The turn has produced events since the delivery.
    pub target_events_observed: bool,
    pub meaning: String,
}
