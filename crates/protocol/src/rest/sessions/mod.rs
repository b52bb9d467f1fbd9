//! Sessions, as their readers see them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::runs::{RunView, hundred};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    #[schema(example = "ses_01920000000070008000000000000000")]
    pub session_id: String,
    pub tenant_id: String,
    pub project_id: String,
    pub backend_profile: String,
    pub created_by: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The backend's thread, once there is one.
    pub thread_id: Option<String>,
    /// running or terminal.
    #[schema(example = "running")]
    pub execution_state: String,
    /// One more for each command, and each run, that has ended.
    pub version: i64,
    /// The version that this reader has read.
    pub read_version: i64,
    pub unread: bool,
    pub run_count: i32,
    pub active_run_id: Option<String>,
    pub active_command_id: Option<String>,
    pub last_run_id: Option<String>,
    /// Where its backend keeps its threads: none, directory or evicted.
    #[serde(default)]
    #[schema(example = "directory")]
    pub storage_kind: String,
    /// The run that is open, or was last; in the answer for one session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionsView {
    pub sessions: Vec<SessionView>,
    /// Sent back as `cursor`, the next page; none at the end.
    pub next_cursor: Option<String>,
}

/// Which sessions to list.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SessionsQuery {
    /// default: what runs, and what is new to this reader; all: everything.
    #[param(pattern = "^(default|all)$")]
    pub state: Option<String>,
    /// The reader's name, of your choice; each has a place of its own.
    #[serde(default = "default_reader")]
    #[param(min_length = 1, max_length = 64, pattern = r"^[\x21-\x7e]+$")]
    pub reader_id: String,
    pub tenant_id: Option<String>,
    pub backend_profile: Option<String>,
    #[param(pattern = "^ses_[0-9a-f]{32}$")]
    pub cursor: Option<String>,
    #[serde(default = "fifty")]
    #[param(minimum = 1, maximum = 200)]
    pub limit: u32,
}

/// As whom to look.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SessionQuery {
    #[serde(default = "default_reader")]
    #[param(min_length = 1, max_length = 64, pattern = r"^[\x21-\x7e]+$")]
    pub reader_id: String,
}

/// Which events of a session.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SessionEventsQuery {
    #[serde(default)]
    #[param(minimum = 0)]
    pub after_seq: i64,
    #[serde(default = "hundred")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: u32,
    /// One of its runs; the open or last one without it.
    #[param(pattern = "^run_[0-9a-f]{32}$")]
    pub run_id: Option<String>,
}

fn fifty() -> u32 {
    50
}

fn default_reader() -> String {
    "default".to_owned()
}

/// A session to make.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateSession {
    /// A tenant's id or slug.
    pub tenant_id: String,
    pub project_id: String,
    pub backend_profile: String,
    /// How long its storage is kept; without it some time after its last use.
    pub expires_in_ms: Option<u64>,
}

/// What a session's storage holds, as its runner found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RefreshStorage {
    pub size_bytes: u64,
    pub files_count: u64,
    /// Over names, sizes and contents, in order.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub sha256: String,
}

/// What is known of a session's storage; never what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageView {
    pub session_id: String,
    #[schema(example = "guildhall-session-01920000000070008000000000000000")]
    pub name: String,
    /// none: nothing was kept yet; directory: a folder where the runner is; evicted: it is gone, or to be gone.
    #[schema(example = "directory")]
    pub storage_kind: String,
    /// pending, bound, removing or removed.
    #[schema(example = "bound")]
    pub phase: String,
    pub size_bytes: Option<i64>,
    pub files_count: Option<i64>,
    pub sha256: Option<String>,
    /// When a runner last said so.
    pub updated_at: Option<Timestamp>,
    pub evicted_at: Option<Timestamp>,
}

/// How far a reader has read.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MarkRead {
    #[serde(default = "default_reader")]
    #[schema(max_length = 64)]
    pub reader_id: String,
    /// The version that was seen; all of it without.
    pub version: Option<i64>,
}

/// What to do with a session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlSession {
    /// cancel: the active command, or else the open run.
    #[schema(example = "cancel", pattern = "^cancel$")]
    pub action: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlledView {
    /// command, run or nothing.
    pub cancelled: String,
    pub run_id: Option<String>,
    pub command_id: Option<String>,
    /// Where it stands now.
    pub status: Option<String>,
}

/// A backend profile and what it can do.
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
    /// Why it cannot be used here, where it cannot.
    pub unavailable: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendsView {
    pub backends: Vec<BackendView>,
}
