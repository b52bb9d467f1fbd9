//! How a runner serves, and how serving ends.

use std::path::PathBuf;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::RunId;
use guildhall_egress::IpNet;
use guildhall_sdk::ClientError;

use crate::backend::select::{BackendCatalog, BackendSelectionError};
use crate::backend::setup::SetupError;
use crate::git_proxy::FetchFailure;
use crate::guard::GuardLink;
use crate::model_proxy::{HostPattern, ModelCaps};
use crate::sandbox::{Containment, UserError};
use crate::workspace::WorkspaceError;

/// Timeout of one poll; the server answers earlier when there is work. A poll costs the server one statement. A replica
/// that has stopped without closing its connections is noticed at the end of a poll.
pub(super) const POLL_TIMEOUT: Duration = Duration::from_secs(12);

/// Delay before a failed request is retried.
pub(super) const RETRY_DELAY: Duration = Duration::from_millis(300);

/// Options of [`serve`](super::serve).
#[derive(Debug, Clone)]
pub struct ServeOptions {
    pub name: String,
    /// The profiles whose runs it serves.
    pub profiles: Vec<String>,
    pub backends: BackendCatalog,
    /// The run to serve; without it, the run that has waited longest.
    pub run: Option<RunId>,
    /// Directory for workspaces, session storage and the spool.
    pub state: PathBuf,
    /// The sandbox of agents, or why there is none: then every run fails.
    pub containment: Result<Containment, String>,
    /// The hosts that runs with network `allow-list` reach.
    pub allowed_hosts: Vec<HostPattern>,
    pub git: GitOptions,
    /// The budget of each run.
    pub model_caps: ModelCaps,
    /// Directories of this machine below which a run may name its workspace.
    pub workspace_roots: Vec<PathBuf>,
    /// A run without a command for this long is released.
    pub idle_timeout: Duration,
    /// How long to wait for a run, or for the lease of a lost runner to expire.
    pub claim_timeout: Duration,
    /// How long a turn may continue after the runner was asked to stop.
    pub drain_timeout: Duration,
    pub guard: GuardLink,
}

/// Repositories of other machines.
#[derive(Debug, Clone, Default)]
pub struct GitOptions {
    /// The hosts that repositories are fetched from.
    pub hosts: Vec<HostPattern>,
    /// Folders with a credential for each tenant and host.
    pub credentials: Vec<PathBuf>,
    /// The SSH keys of the hosts, in the format of OpenSSH.
    pub known_hosts: Option<PathBuf>,
    /// Private networks whose addresses these hosts may have.
    pub networks: Vec<IpNet>,
}

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServeOutcome {
    RunEnded,
    /// The run was released: it was idle, or the runner was asked to stop.
    Released,
    /// Another runner holds the run now.
    LeaseLost,
    /// There was no run to claim in time.
    NoRun,
    /// The runner gets no more runs.
    Draining,
}

/// Why a runner could not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the server rejected the runner")]
    Client(#[from] ClientError),
    #[error("cannot use the workspace: {0}")]
    Workspace(WorkspaceError),
    #[error(transparent)]
    User(#[from] UserError),
    #[error("agents cannot be contained: {0}")]
    Sandbox(String),
    #[error("cannot use the state directory")]
    State(#[from] std::io::Error),
    #[error("invalid response from the server: {0}")]
    InvalidResponse(&'static str),
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Backend(#[from] BackendSelectionError),
}

impl From<WorkspaceError> for ServeError {
    fn from(error: WorkspaceError) -> Self {
        Self::Workspace(error)
    }
}

impl ServeError {
    /// Returns the failure kind of a run that could not be served.
    pub(super) fn kind(&self) -> FailureKind {
        match self {
            Self::Backend(error) => error.kind(),
            Self::Workspace(
                WorkspaceError::TenantDenied
                | WorkspaceError::HostNotAllowed(_)
                | WorkspaceError::Fetch(FetchFailure::UnknownHostKey | FetchFailure::ChangedHostKey),
            )
            | Self::Setup(SetupError::HostNotAllowed(_)) => FailureKind::TenantPolicyDenied,
            Self::Workspace(
                WorkspaceError::Credential { .. }
                | WorkspaceError::NoSshKey(_)
                | WorkspaceError::Fetch(
                    FetchFailure::Refused | FetchFailure::NotFound | FetchFailure::InvalidSshKey,
                ),
            ) => FailureKind::SecretUnavailable,
            Self::Client(_)
            | Self::Workspace(_)
            | Self::User(_)
            | Self::Sandbox(_)
            | Self::Setup(_)
            | Self::State(_)
            | Self::InvalidResponse(_) => FailureKind::InfraFailed,
        }
    }
}
