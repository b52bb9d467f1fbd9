//! Payloads of events, for the API document.
//!
//! The server writes the first five and those of approvals. Runners report the others; the server stores them unchanged
//! and does not check them, so none of their properties is required. Payloads may have further properties.

use serde_json::Value;
use utoipa::ToSchema;

use crate::rest::front::ui_schema::UiHints;

/// A change of the status of a run. The end of a run is a `terminal_status`.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStatusPayload {
    /// pending (created, released, or its runner was lost), cancelling or closing.
    #[schema(example = "pending", pattern = "^(pending|cancelling|closing)$")]
    pub status: String,
    /// The principal who created, cancelled or closed the run.
    #[schema(required = false)]
    pub by: String,
    /// Why the run is pending again: released or runner-lost.
    #[schema(required = false)]
    pub reason: String,
    #[schema(required = false)]
    pub session_id: String,
    /// The runner that released the run, or was lost.
    pub runner_id: Option<String>,
    /// The profile validation that created the run.
    #[schema(required = false)]
    pub validation_id: String,
}

/// A change of the status of a command. The end of a command is a `terminal_status`.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandStatusPayload {
    /// pending, running or cancelling.
    #[schema(example = "running", pattern = "^(pending|running|cancelling)$")]
    pub status: String,
    /// turn, steer or interrupt. Of a new command.
    #[schema(required = false)]
    pub r#type: String,
    /// Number of the command in its run, from 1. Of a new command.
    #[schema(required = false)]
    pub ordinal: i32,
    /// The runner that started the command.
    #[schema(required = false)]
    pub runner_id: String,
    /// The principal who cancelled the command.
    #[schema(required = false)]
    pub by: String,
    /// The blocked turn whose work this one continues. Of a new command.
    #[schema(required = false)]
    pub continues: String,
}

/// What the author of a turn or steer wrote. Secrets are redacted.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserMessagePayload {
    pub text: String,
    /// turn or steer.
    #[schema(example = "turn", pattern = "^(turn|steer)$")]
    pub r#type: String,
    /// The author.
    pub by: String,
    /// The client's own id of the message.
    #[schema(required = false)]
    pub client_message_id: String,
    /// Its images.
    #[schema(required = false)]
    pub attachments: Vec<MessageAttachment>,
}

/// An image of a message.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageAttachment {
    /// Attachment id.
    pub id: String,
    #[schema(example = "image/png")]
    pub mime_type: String,
}

/// A client's own run id. It stands for a turn, or for the part of it that follows the answers to its questions.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientRunPayload {
    #[schema(example = "f3a1c0de-0000-4000-8000-000000000001")]
    pub client_run_id: String,
    /// The client's run that this one follows.
    #[schema(required = false)]
    pub parent_run_id: String,
    /// The worker that the router of the turn picked.
    #[schema(required = false, example = "default")]
    pub worker: String,
    /// Approvals that the client answered to continue the turn.
    #[schema(required = false)]
    pub resumed: Vec<String>,
    /// Tools of the front end, redacted. They are repeated to its clients; no agent gets them.
    #[schema(required = false, value_type = Vec<Object>)]
    pub tools: Vec<serde_json::Value>,
}

/// The end of a command or of the run.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalStatusPayload {
    /// command or run.
    #[schema(example = "command", pattern = "^(command|run)$")]
    pub scope: String,
    /// completed, failed, blocked or cancelled.
    #[schema(example = "completed", pattern = "^(completed|failed|blocked|cancelled)$")]
    pub terminal_status: String,
    pub failure_kind: Option<String>,
    pub message: Option<String>,
}

/// A chunk of a message in progress. The complete message follows.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantDeltaPayload {
    /// The message that the chunk belongs to.
    #[schema(required = false)]
    pub item_id: String,
    #[schema(required = false)]
    pub text: String,
}

/// A complete message of the agent.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessagePayload {
    #[schema(required = false)]
    pub item_id: String,
    #[schema(required = false)]
    pub text: String,
    /// Whether the backend marks the message as the last one of the turn.
    #[schema(required = false)]
    pub r#final: bool,
    /// Whether the message is the reply of the turn.
    #[schema(required = false)]
    pub reply_authority: bool,
    #[schema(required = false)]
    pub text_truncated: bool,
    #[schema(required = false)]
    pub output_truncated: bool,
    /// How to show the message: the history of applications has a UiSchema that is compiled from it.
    #[schema(required = false)]
    pub ui_hints: UiHints,
}

/// A chunk of the agent's reasoning in progress. The complete text follows.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningDeltaPayload {
    /// The text that the chunk belongs to.
    #[schema(required = false)]
    pub item_id: String,
    #[schema(required = false)]
    pub text: String,
}

/// A complete text of the agent's reasoning.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningPayload {
    #[schema(required = false)]
    pub item_id: String,
    #[schema(required = false)]
    pub text: String,
    #[schema(required = false)]
    pub text_truncated: bool,
}

/// The start or end of a tool call.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallPayload {
    #[schema(required = false)]
    pub call_id: String,
    #[schema(required = false, example = "shell")]
    pub tool_name: String,
    /// started, or the status that ended the call.
    #[schema(required = false, example = "started")]
    pub status: String,
    pub command: Option<String>,
    /// Arguments of the call, if the backend gives them; any JSON. Our runners send an object, when the call starts, and
    /// again at its end if they changed.
    #[schema(required = false)]
    pub arguments: Value,
    /// Whether the runner cut long arguments.
    #[schema(required = false)]
    pub arguments_truncated: bool,
    pub exit_code: Option<i64>,
    /// Output that the runner dropped because of its limits.
    #[schema(required = false)]
    pub output_dropped_bytes: u64,
}

/// Output of a tool call.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandOutputPayload {
    #[schema(required = false)]
    pub call_id: String,
    #[schema(required = false)]
    pub text: String,
    /// Whether the text replaces earlier chunks.
    #[schema(required = false)]
    pub whole: bool,
    #[schema(required = false)]
    pub output_truncated: bool,
    #[schema(required = false)]
    pub dropped_bytes: u64,
}

/// A file that the turn changed, or a summary of the remaining ones.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactPayload {
    /// file, summary, or another kind of the backend.
    #[schema(required = false, example = "file")]
    pub kind: String,
    pub path: Option<String>,
    /// added, modified or deleted.
    #[schema(required = false, example = "added")]
    pub change: String,
    #[schema(required = false)]
    pub bytes: u64,
    #[schema(required = false)]
    pub truncated: bool,
    /// Number of files of a summary.
    #[schema(required = false)]
    pub files: u64,
    #[schema(required = false)]
    pub files_looked_at: u64,
    /// Whether a summary covers the whole workspace.
    #[schema(required = false)]
    pub whole_workspace: bool,
}

/// A status of the backend, the runner or its lease, by `phase`.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendStatusPayload {
    #[schema(required = false, example = "run-claimed")]
    pub phase: String,
    /// Details of the backend; any JSON.
    #[schema(required = false)]
    pub detail: Value,
    #[schema(required = false)]
    pub runner_id: String,
    #[schema(required = false)]
    pub attempt_id: String,
    /// Epoch of the lease.
    #[schema(required = false)]
    pub epoch: i64,
    #[schema(required = false)]
    pub lease_expires_at: String,
    /// The lost runner that was replaced.
    pub recovered_from: Option<String>,
    /// The runner that holds the lease.
    #[schema(required = false)]
    pub owner: String,
    /// The runner's machine.
    #[schema(required = false)]
    pub host: String,
    /// A file with events on that machine.
    #[schema(required = false)]
    pub file: String,
    /// Number of events in the file.
    #[schema(required = false)]
    pub events: u64,
    #[schema(required = false)]
    pub reason: String,
    #[schema(required = false)]
    pub within_ms: u64,
    /// Level of a line of the runner's log.
    #[schema(required = false)]
    pub level: String,
    #[schema(required = false)]
    pub message: String,
}

/// An error that did not end the turn.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorPayload {
    #[schema(required = false, example = "provider-unavailable")]
    pub failure_kind: String,
    #[schema(required = false)]
    pub message: String,
}

/// Resource usage since the last report.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsagePayload {
    #[schema(required = false)]
    pub input_tokens: u64,
    #[schema(required = false)]
    pub cached_input_tokens: u64,
    #[schema(required = false)]
    pub output_tokens: u64,
    #[schema(required = false)]
    pub active_ms: u64,
    #[schema(required = false)]
    pub tool_calls: u64,
}

/// The agent asked for permission and was declined.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDeclinedPayload {
    #[schema(required = false)]
    pub what: String,
    /// What the agent asked for; any JSON.
    #[schema(required = false)]
    pub detail: Value,
    #[schema(required = false)]
    pub reason: String,
}

/// The agent asks before it acts. The approval has the question.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequestedPayload {
    #[schema(example = "apr_01920000000070008000000000000000")]
    pub approval_id: String,
    #[schema(example = "command")]
    pub kind: String,
    #[schema(example = "shell")]
    pub tool: String,
    /// Denied then, if there is no answer.
    pub expires_at: String,
    /// The tool call that waits for the answer.
    #[schema(required = false)]
    pub call_id: String,
    /// Whether an earlier answer or a rule decides it at once, and nobody is asked.
    #[schema(required = false)]
    pub answered: bool,
}

/// A new state of a question.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalStatusPayload {
    #[schema(example = "apr_01920000000070008000000000000000")]
    pub approval_id: String,
    /// pending, decided, expired, delivering, delivered, settled, withdrawn, void, reused or uncertain.
    #[schema(example = "decided")]
    pub status: String,
    /// The chosen option.
    pub option_id: Option<String>,
    /// allow, deny or answer.
    pub effect: Option<String>,
    /// Ids of those who decided, or `expiry`.
    pub by: Option<Vec<String>>,
    /// Why the question was withdrawn, its answer is void, or it is still pending: `parked` or `escalated`.
    pub reason: Option<String>,
}

/// An answer that does not decide yet.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalVotePayload {
    #[schema(example = "apr_01920000000070008000000000000000")]
    pub approval_id: String,
    pub option_id: String,
    /// Id of the person who answered.
    pub by: String,
    /// Answers so far.
    pub votes: u32,
    /// Equal answers that decide.
    pub quorum: u32,
}

/// An event of the agent that Guildhall does not know.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendEventPayload {
    /// The agent's name for it.
    #[schema(required = false)]
    pub kind: String,
    /// Any JSON.
    #[schema(required = false)]
    pub payload: Value,
}
