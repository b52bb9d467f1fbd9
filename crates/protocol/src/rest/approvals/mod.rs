//! Approvals: questions of agents, and their answers.

pub mod policy;
pub mod question;
pub mod rules;

use guildhall_domain::approvals::form::AnswerContent;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use self::question::QuestionBody;

/// A question of an agent, and what has become of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalView {
    #[schema(example = "apr_01920000000070008000000000000000")]
    pub approval_id: String,
    pub tenant_id: String,
    pub session_id: String,
    pub run_id: String,
    /// The turn that asks.
    pub command_id: String,
    /// pending, decided, expired, delivering, delivered, settled, withdrawn, void, reused or uncertain.
    #[schema(example = "pending")]
    pub status: String,
    pub question: QuestionBody,
    /// Digest of the whole question; an answer must name it.
    pub shown_digest: String,
    /// The chosen option.
    pub option_id: Option<String>,
    /// allow, deny or answer.
    pub effect: Option<String>,
    /// Ids of those who decided, or `expiry`.
    pub decided_by: Vec<String>,
    pub decided_at: Option<Timestamp>,
    /// Why the question was withdrawn, or its answer is void.
    pub end_reason: Option<String>,
    pub created_at: Timestamp,
    /// Denied then, if there is no answer.
    pub expires_at: Timestamp,
    /// Version of the tenant's approval policy that it was asked under.
    pub policy_version: u32,
    /// The mode of that policy: first-responder, designated, consensus or local-only.
    #[schema(example = "first-responder")]
    pub mode: String,
    /// Whether the agent's process has ended, and asks again when there is an answer.
    pub parked: bool,
    /// Whether the owners of the tenant are asked, because nobody answered in time.
    pub escalated: bool,
    /// Whether you may answer it now.
    pub can_answer: bool,
}

/// Query parameters of a list of approvals.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ApprovalsQuery {
    /// Id or slug of one of your tenants.
    #[param(example = "acme")]
    pub tenant_id: String,
    /// Only those of a run.
    #[param(pattern = "^run_[0-9a-f]{32}$")]
    pub run_id: Option<String>,
    /// Only those of a session.
    #[param(pattern = "^ses_[0-9a-f]{32}$")]
    pub session_id: Option<String>,
    /// Only those that you may answer now. A page may then be shorter than `limit`, even empty, with more to follow.
    #[serde(default)]
    pub answerable: bool,
    /// pending (default) or all.
    #[param(pattern = "^(pending|all)$")]
    pub state: Option<String>,
    #[param(pattern = "^apr_[0-9a-f]{32}$")]
    pub cursor: Option<String>,
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
    /// Long poll: wait until something has changed after this `position` of an earlier list.
    #[param(example = "0123456789abcdef-42")]
    pub after: Option<String>,
    /// How long to wait, in milliseconds; at most 30 s.
    #[serde(default)]
    pub wait: u64,
}

const fn default_limit() -> u32 {
    50
}

/// One page of approvals, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalsView {
    pub approvals: Vec<ApprovalView>,
    /// For the next page; null on the last one.
    pub next_cursor: Option<String>,
    /// What happens after this list follows this position: `after` waits for it, the stream continues after it.
    pub position: String,
}

/// An event of a stream of approvals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalEventView {
    /// Version of this form.
    pub v: u32,
    pub seq: i64,
    /// approval_requested, approval_status or approval_vote.
    pub r#type: String,
    pub run_id: String,
    pub session_id: String,
    /// The turn that asks.
    pub command_id: String,
    /// As in the events of the run. It has no arguments: read the approval.
    #[schema(value_type = Object)]
    pub payload: serde_json::Value,
    pub recorded_at: Timestamp,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CastVote {
    #[schema(example = "accept")]
    pub option_id: String,
    /// The `shownDigest` of the approval that you have read.
    pub shown_digest: String,
    /// Answers the same action without asking from now on, for 30 days: run, session or agent-and-project. Absent: this
    /// question only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(run|session|agent-and-project)$")]
    pub remember: Option<String>,
    /// The values of the form (`question.answerSchema`), by the names of its fields: required for an option with the effect
    /// answer, and refused for any other. They are kept encrypted, are given to the agent only, and cannot be read back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub content: Option<AnswerContent>,
}

/// A question of an agent's process, reported by its runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskQuestion {
    /// The turn that asks.
    #[schema(example = "cmd_01920000000070008000000000000000")]
    pub command_id: String,
    /// Id of the agent's process, new for each start.
    #[schema(min_length = 1, max_length = 64)]
    pub process: String,
    /// The process's own id of the request.
    #[schema(min_length = 1, max_length = 128)]
    pub request: String,
    /// The tool call that waits for the answer, as the events of the turn name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 256)]
    pub call_id: Option<String>,
    pub question: QuestionBody,
}

/// Length of the id of a tool call.
pub const CALL_ID_BYTES: std::ops::RangeInclusive<usize> = 1..=256;

/// A request of a runner for the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TakeAnswer {
    /// The process that asked.
    pub process: String,
    /// How long to wait for an answer, in milliseconds.
    #[serde(default)]
    pub wait: u64,
}

/// Confirms that the agent's process has got the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfirmAnswer {
    /// The process that asked.
    pub process: String,
}

/// The state of a question, for the runner that asked it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerView {
    #[schema(example = "apr_01920000000070008000000000000000")]
    pub approval_id: String,
    #[schema(example = "delivering")]
    pub status: String,
    /// The option to give to the process; only with the status delivering.
    pub option_id: Option<String>,
    /// The values to give to the process, for an option with the effect answer; only with the status delivering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub content: Option<AnswerContent>,
    /// Whether the turn must end: the question stays, and its answer continues the work in another turn.
    #[serde(default)]
    pub parked: bool,
}
