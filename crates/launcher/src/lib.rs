//! Launches runners as local processes. Kubernetes is planned; this will be the only crate that depends on kube.
//!
//! [`secrets`] stores the credentials of provider profiles, [`storage`] deletes the storage of sessions.
//!
//! This crate holds no state of runs: PostgreSQL does. It only stores what it needs to find its processes after a
//! server restart, and to prove that they are dead.

mod directories;
pub mod local;
pub mod secrets;
pub mod storage;

use std::fmt;

use futures::future::BoxFuture;
use guildhall_domain::ids::{AttemptId, LauncherId, RunId, SessionId, TenantId};
use guildhall_domain::runs::policy::BackendProfile;
use secrecy::SecretString;

use secrets::SecretError;

/// Starts runners and reports their status. Every call is idempotent.
pub trait Launcher: fmt::Debug + Send + Sync {
    /// The kind of launcher, as it is stored with each job.
    fn kind(&self) -> &'static str;

    /// The id of its state directory. Servers with the same id manage each other's processes.
    fn id(&self) -> LauncherId;

    /// Fails if no runner with this profile can be launched for runs of a tenant; without a tenant, for runs of any.
    fn check_profile(
        &self,
        tenant: Option<TenantId>,
        profile: &BackendProfile,
    ) -> Result<(), ProfileUnavailable>;

    /// Returns whether the runners that it starts find the storage of a session.
    fn has_session_storage(&self, session: SessionId) -> bool;

    /// Returns whether agents are sandboxed on the machine of their runners.
    fn is_contained(&self) -> bool;

    /// Starts the process of an attempt, unless it was already started.
    fn launch(&self, request: LaunchRequest) -> BoxFuture<'_, Result<(), LaunchError>>;

    /// Returns the status of an attempt's process. [`ProcessStatus::Ended`] guarantees that all its descendants are
    /// dead.
    fn status(&self, attempt: AttemptId) -> BoxFuture<'_, Result<ProcessStatus, LaunchError>>;

    /// Kills the process of an attempt and all its descendants.
    fn kill(&self, attempt: AttemptId) -> BoxFuture<'_, Result<ProcessStatus, LaunchError>>;

    /// Returns whether [`Launcher::close`] was called. It then starts no more runners.
    fn is_closed(&self) -> bool;

    /// Called when the server shuts down. Runners keep running, unless they were started to end with the server.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Parameters of a runner to launch.
#[derive(Debug, Clone)]
pub struct LaunchRequest {
    pub attempt: AttemptId,
    /// The tenant of the run; `None` for a warm runner, which may get a run of any tenant.
    pub tenant: Option<TenantId>,
    pub profile: BackendProfile,
    /// The only run to serve; `None` for any.
    pub run: Option<RunId>,
    /// The token with which it registers and claims. It is passed in a file that only the runner reads.
    pub enrolment: SecretString,
}

/// The status of an attempt's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessStatus {
    /// It was never started here, or its record is gone.
    Absent,
    Running,
    Ended(ExitReason),
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitReason {
    Exited(i32),
    Killed(i32),
    /// It is dead, but the server that was its parent ended before it could read the exit status.
    #[serde(rename = "unseen")]
    Unknown,
}

/// No runner can be launched with this profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot start a runner for the profile `{0}`: set its credential, or ask the operator of the server to set it up"
)]
pub struct ProfileUnavailable(pub String);

/// A failed launcher operation.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(transparent)]
    Profile(#[from] ProfileUnavailable),
    #[error("cannot copy the profile for the runner")]
    Secret(#[source] SecretError),
    #[error("cannot {action} {what}")]
    Io {
        action: &'static str,
        what: &'static str,
        #[source]
        source: std::io::Error,
    },
    #[error("another server is launching this attempt")]
    Busy,
    #[error("the launcher is closed")]
    Closed,
}

impl From<SecretError> for LaunchError {
    /// A profile that was deleted in the meantime is also missing at the next attempt.
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::Missing(profile) => Self::Profile(ProfileUnavailable(profile.as_str().to_owned())),
            error @ (SecretError::InsecurePermissions(_)
            | SecretError::InvalidFormat(_)
            | SecretError::Io { .. }) => Self::Secret(error),
        }
    }
}

impl LaunchError {
    fn io(action: &'static str, what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { action, what, source }
    }
}
