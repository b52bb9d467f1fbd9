//! Sessions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::runs::{LivenessView, RunView, default_event_limit};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    #[schema(example = "ses_01920000000070008000000000000000")]
    pub session_id: String,
    pub tenant_id: String,
    /// The title of its first run.
    #[serde(default)]
    #[schema(example = "fix the failing test")]
    pub title: Option<String>,
    pub project_id: String,
    pub backend_profile: String,
    pub created_by: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The backend's thread, if it exists.
    pub thread_id: Option<String>,
    /// running or terminal.
    #[schema(example = "running")]
    pub execution_state: String,
    /// Incremented by every ended command and every ended run.
    pub version: i64,
    /// The last version that this reader has read.
    pub read_version: i64,
    pub unread: bool,
    pub run_count: i32,
    pub active_run_id: Option<String>,
    pub active_command_id: Option<String>,
    pub last_run_id: Option<String>,
    /// Where the backend stores the threads: none, directory or evicted.
    #[serde(default)]
    #[schema(example = "directory")]
    pub storage_kind: String,
    /// The open or last run. Only in the response for a single session, like the fields below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunView>,
    /// The last event of that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_event_seq: Option<i64>,
    /// Liveness of that run. Computed on request; the events are the facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness: Option<LivenessView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<SupervisorView>,
}

/// Summary of the supervision of a session: its run, the runner that holds it, and what it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SupervisorView {
    pub run_id: String,
    #[schema(example = "running")]
    pub run_status: String,
    /// The phase of `liveness`.
    #[schema(example = "waiting-runner")]
    pub phase: String,
    pub active: bool,
    /// The runner that holds the lease of the run.
    pub runner_id: Option<String>,
    pub lease_expires_at: Option<Timestamp>,
    /// Ids of the open commands, in order.
    pub open_command_ids: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionsView {
    pub sessions: Vec<SessionView>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// Query parameters of the session list.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SessionsQuery {
    /// default (running or unread sessions) or all.
    #[param(pattern = "^(default|all)$")]
    pub state: Option<String>,
    /// Name of the reader, chosen by the client. Each reader has its own read position.
    #[serde(default = "default_reader")]
    #[param(min_length = 1, max_length = 64, pattern = r"^[\x21-\x7e]+$")]
    pub reader_id: String,
    /// Id or slug of one of your tenants. By default all of them.
    pub tenant_id: Option<String>,
    pub backend_profile: Option<String>,
    #[param(pattern = "^ses_[0-9a-f]{32}$")]
    pub cursor: Option<String>,
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 200)]
    pub limit: u32,
}

/// Query parameters of a single session.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SessionQuery {
    #[serde(default = "default_reader")]
    #[param(min_length = 1, max_length = 64, pattern = r"^[\x21-\x7e]+$")]
    pub reader_id: String,
}

/// Query parameters of session events.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SessionEventsQuery {
    #[serde(default)]
    #[param(minimum = 0)]
    pub after_seq: i64,
    #[serde(default = "default_event_limit")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: u32,
    /// A run of the session. Defaults to the open or last run.
    #[param(pattern = "^run_[0-9a-f]{32}$")]
    pub run_id: Option<String>,
}

fn default_limit() -> u32 {
    50
}

fn default_reader() -> String {
    "default".to_owned()
}

/// A session to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateSession {
    /// Id or slug of one of your tenants.
    pub tenant_id: String,
    /// Slug of a project, or another name that the tenant's policy allows.
    pub project_id: String,
    pub backend_profile: String,
    /// Lifetime of its storage: 1 millisecond to 365 days. By default it is deleted some time after its last use.
    #[schema(minimum = 1, maximum = 31536000000_u64)]
    pub expires_in_ms: Option<u64>,
}

/// Summary of a session's storage, reported by its runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RefreshStorage {
    pub size_bytes: u64,
    pub files_count: u64,
    /// Hash of names, sizes and contents, in order.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub sha256: String,
}

/// Metadata of a session's storage, without its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageView {
    pub session_id: String,
    #[schema(example = "guildhall-session-01920000000070008000000000000000")]
    pub name: String,
    /// none (nothing stored yet), directory (a directory on the runner's machine) or evicted (deleted or about to be).
    #[schema(example = "directory")]
    pub storage_kind: String,
    /// pending, bound, removing or removed.
    #[schema(example = "bound")]
    pub phase: String,
    pub size_bytes: Option<i64>,
    pub files_count: Option<i64>,
    pub sha256: Option<String>,
    /// Time of the last report by a runner.
    pub updated_at: Option<Timestamp>,
    pub evicted_at: Option<Timestamp>,
}

/// The read position of a reader.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MarkRead {
    #[serde(default = "default_reader")]
    #[schema(max_length = 64)]
    pub reader_id: String,
    /// The read version. Defaults to the current version.
    pub version: Option<i64>,
}

/// A control action on a session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlSession {
    /// cancel: cancels the active command, or else the open run.
    #[schema(example = "cancel", pattern = "^cancel$")]
    pub action: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCancellationView {
    /// command, run or nothing.
    pub cancelled: String,
    pub run_id: Option<String>,
    pub command_id: Option<String>,
    /// Its current status.
    pub status: Option<String>,
}

/// A backend profile and its features.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendView {
    pub profile: String,
    #[schema(example = "codex-app-server-stdio")]
    pub backend_kind: String,
    pub protocol: String,
    pub transport: String,
    pub command_types: Vec<String>,
    pub required_secret_keys: Vec<String>,
    /// Whether this server stores everything that a run needs. Runners may bring their own.
    pub configured: bool,
    /// Why it cannot be used here; null if it can.
    pub unavailable: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendsView {
    pub backends: Vec<BackendView>,
}

/// Query parameters of the list of backends.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct BackendsQuery {
    /// Id or slug of a tenant, to include its own profiles. Optional for service keys, which belong to one tenant.
    pub tenant_id: Option<String>,
}
