//! Endpoints of runners. A runner is untrusted: its token is valid for one run and one lease epoch.

pub mod enrolments;
pub mod jobs;
pub mod whoami;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::access::projects::ProjectSetupView;
use super::runs::RunView;
use super::runs::commands::CommandView;

/// A runner to register.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterRunner {
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// Where the runner runs, for people.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub placement: Value,
    /// The backend profiles that it can serve.
    #[serde(default)]
    pub backend_profiles: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerView {
    #[schema(example = "rnr_01920000000070008000000000000000")]
    pub runner_id: String,
    /// Null for a runner of the installation pool.
    pub tenant_id: Option<String>,
    pub name: String,
    pub backend_profiles: Vec<String>,
}

/// A runner as its tenant sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerSummaryView {
    #[schema(example = "rnr_01920000000070008000000000000000")]
    pub runner_id: String,
    pub name: String,
    pub backend_profiles: Vec<String>,
    pub registered_at: Timestamp,
    /// When it last asked for a run.
    pub seen_at: Timestamp,
    /// Whether it gets no more runs.
    pub draining: bool,
    /// The run that it holds.
    pub run_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnersView {
    pub runners: Vec<RunnerSummaryView>,
}

/// Query parameters of the list of runners.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct RunnersQuery {
    /// Also runners that hold no run and have not asked for one lately.
    #[serde(default)]
    pub all: bool,
}

/// A claim on a run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimRun {
    #[schema(example = "rnr_01920000000070008000000000000000")]
    pub runner_id: String,
    /// Whether the runner will retry when the lease of another runner ends. The run then shows that a runner is
    /// waiting.
    #[serde(default)]
    pub wait: bool,
}

/// A claim on the next available run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimNext {
    #[schema(example = "rnr_01920000000070008000000000000000")]
    pub runner_id: String,
    /// Milliseconds to wait for a run, at most 30 s. They do not count against the request timeout of the server.
    #[serde(default)]
    #[schema(maximum = 60000)]
    pub wait: u64,
}

/// The claimed run; null if none was available in time.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimedView {
    pub grant: Option<GrantView>,
    /// How long the request had waited when the run was claimed. The lease starts this long after the request was sent, or
    /// later.
    #[serde(default)]
    pub waited_ms: u64,
}

/// The result of a claim or of a lease renewal.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantView {
    /// Token for this run and this epoch only.
    pub run_token: String,
    pub token_expires_at: Timestamp,
    pub epoch: i64,
    pub runner_id: String,
    pub lease_expires_at: Timestamp,
    /// Duration of the lease without renewal. Stop the backend before it expires.
    pub lease_ms: u64,
    /// The backend's thread to resume; null to start a new one.
    pub thread_id: Option<String>,
    /// State of the session's storage: none, directory or evicted.
    #[serde(default)]
    pub storage_kind: String,
    /// The lost runner that held the run before, if any.
    pub recovered_from: Option<String>,
    /// The directories that the tenant may use now: names, `*`, or prefixes followed by `*`. Present where the workspace is
    /// a path on the runner's machine. The runner must not use another directory, also after resolving symbolic links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories: Option<Vec<String>>,
    /// The setup of the run's project, if it has one. The runner runs it in the workspace before the agent starts. Present
    /// in the grant of a claim, not of a renewal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<ProjectSetupView>,
    /// What the agent of the run is told before its first turn. Present in the grant of a claim, not of a renewal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    pub run: RunView,
}

/// A renewal or release of a lease.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeLease {
    /// Release the run instead of renewing the lease.
    #[serde(default)]
    pub release: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseChangedView {
    pub released: bool,
    /// The renewed grant; null if the run was released.
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
    /// Id chosen by the runner. Use the same id when the event is sent again.
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
pub struct AppendedEventsView {
    /// One result per event, in the given order.
    pub events: Vec<AppendedEventView>,
    pub last_seq: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendedEventView {
    pub id: String,
    pub seq: i64,
    /// Whether the event already existed.
    pub replayed: bool,
}

/// Query parameters of a poll.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct PollQuery {
    /// Return commands after this sequence number.
    #[serde(default)]
    #[param(minimum = 0)]
    pub after_seq: i32,
    /// The `cancelSeq` of the last response.
    #[serde(default)]
    #[param(minimum = 0)]
    pub cancel_seq: i64,
    #[serde(default = "default_poll_limit")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
    /// Milliseconds to wait for work, at most 30 s. They do not count against the request timeout of the server.
    #[serde(default)]
    #[param(minimum = 0, maximum = 60000)]
    pub wait: u64,
}

fn default_poll_limit() -> u32 {
    20
}

/// Work for a runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkView {
    /// Turns and interrupts, in order.
    pub commands: Vec<CommandView>,
    /// Input for the running turn, not turns of their own.
    pub steers: Vec<CommandView>,
    /// Commands to interrupt.
    pub cancel_command_ids: Vec<String>,
    pub run_status: String,
    pub cancel_seq: i64,
    /// The `afterSeq` of the next poll.
    pub next_after_seq: i32,
    /// Whether an idle runner should release the run: another run waits for a runner, or this one is draining.
    #[serde(default)]
    pub should_release: bool,
}

/// Terminal status of a run or command.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndStatus {
    /// completed, failed, blocked or cancelled. For commands also running, which has no effect.
    #[schema(example = "completed", pattern = "^(running|completed|failed|blocked|cancelled)$")]
    pub status: String,
    /// A failure kind. Required for failed and blocked.
    pub failure_kind: Option<String>,
    #[schema(max_length = 2000)]
    pub message: Option<String>,
    /// The backend's thread, to resume with the next command. For commands only.
    #[schema(max_length = 200)]
    pub thread_id: Option<String>,
}
