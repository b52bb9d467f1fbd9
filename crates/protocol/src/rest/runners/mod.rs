//! What runners say and ask. They are untrusted: each holds a token for one run, under one epoch of its lease.

pub mod enrolments;
pub mod jobs;
pub mod whoami;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::runs::RunView;
use crate::rest::runs::commands::CommandView;

/// A runner to register.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterRunner {
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// Where it runs, for people who look for it.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub placement: Value,
    /// The profiles whose runs it can serve.
    #[serde(default)]
    pub backend_profiles: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerView {
    #[schema(example = "rnr_01920000000070008000000000000000")]
    pub runner_id: String,
    /// Null for a runner of the installation's own pool.
    pub tenant_id: Option<String>,
    pub name: String,
    pub backend_profiles: Vec<String>,
}

/// A claim on a run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimRun {
    #[schema(example = "rnr_01920000000070008000000000000000")]
    pub runner_id: String,
    /// Whether the runner will come again when the lease of another has ended; the run then shows that it waits.
    #[serde(default)]
    pub wait: bool,
}

/// A claim on whatever waits.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimNext {
    #[schema(example = "rnr_01920000000070008000000000000000")]
    pub runner_id: String,
    /// Milliseconds to wait for a run; shorter than the server's time limit for a request.
    #[serde(default)]
    #[schema(maximum = 60000)]
    pub wait: u64,
}

/// The run that was claimed; none when there was nothing to claim in time.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimedView {
    pub grant: Option<GrantView>,
}

/// What a claim, or the renewal of a lease, gives.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantView {
    /// For this run and this epoch alone.
    pub run_token: String,
    pub token_expires_at: Timestamp,
    pub epoch: i64,
    pub runner_id: String,
    pub lease_expires_at: Timestamp,
    /// How long the lease lasts without a sign of life. Stop the backend before that.
    pub lease_ms: u64,
    /// The backend's thread to resume; start one where there is none.
    pub thread_id: Option<String>,
    /// What the server knows of the session's storage: none, directory or evicted.
    #[serde(default)]
    pub storage_kind: String,
    /// The runner that was lost before.
    pub recovered_from: Option<String>,
    pub run: RunView,
}

/// What to do with a lease.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeLease {
    /// Gives the run back instead of renewing the lease.
    #[serde(default)]
    pub release: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseChangedView {
    pub released: bool,
    /// The renewed grant; none where the run was given back.
    pub grant: Option<GrantView>,
}

/// Events to append.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AppendEvents {
    #[schema(min_items = 1, max_items = 500)]
    pub events: Vec<NewEvent>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewEvent {
    /// The runner's own id; the same when the event is sent again.
    #[schema(min_length = 1, max_length = 128, pattern = r"^[\x21-\x7e]+$")]
    pub id: String,
    #[schema(example = "assistant_message", min_length = 1, max_length = 64, pattern = "^[a-z0-9_]+$")]
    pub r#type: String,
    pub command_id: Option<String>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub payload: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendedView {
    /// One for each event, in the order given.
    pub events: Vec<PlacedView>,
    pub last_seq: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacedView {
    pub id: String,
    pub seq: i64,
    /// Whether it was there already.
    pub replayed: bool,
}

/// Where a poll stands.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct PollQuery {
    /// Commands after this number.
    #[serde(default)]
    #[param(minimum = 0)]
    pub after_seq: i32,
    /// The `cancelSeq` of the last answer.
    #[serde(default)]
    #[param(minimum = 0)]
    pub cancel_seq: i64,
    #[serde(default = "twenty")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
    /// Milliseconds to wait for something to do; shorter than the server's time limit for a request.
    #[serde(default)]
    #[param(minimum = 0, maximum = 60000)]
    pub wait: u64,
}

fn twenty() -> u32 {
    20
}

/// What a runner has to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkView {
    /// Turns and interrupts, in order.
    pub commands: Vec<CommandView>,
    /// Words for the turn that runs: never a turn of their own.
    pub steers: Vec<CommandView>,
    /// Commands to interrupt.
    pub cancel_command_ids: Vec<String>,
    pub run_status: String,
    pub cancel_seq: i64,
    /// Sent back as `afterSeq`, the next poll.
    pub next_after_seq: i32,
}

/// How something ended.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndStatus {
    /// completed, failed, blocked or cancelled; for a command also running, which changes nothing.
    #[schema(example = "completed", pattern = "^(running|completed|failed|blocked|cancelled)$")]
    pub status: String,
    /// One of the known kinds; needed with failed and blocked.
    pub failure_kind: Option<String>,
    #[schema(max_length = 2000)]
    pub message: Option<String>,
    /// The backend's thread, to resume it with the next command. For commands alone.
    #[schema(max_length = 200)]
    pub thread_id: Option<String>,
}
