//! Where runners run: processes of this machine today; Kubernetes is to come, and this will be the only crate that names
//! kube.
//!
//! [`secrets`] keeps the credentials of provider profiles, [`storage`] removes what sessions kept.
//!
//! This crate deliberately holds no state of a run: PostgreSQL does. What it keeps is what it needs to find its processes
//! again after the server was restarted, and to prove that they are dead.

pub mod local;
pub mod secrets;
pub mod storage;

use std::fmt;

use futures::future::BoxFuture;
use guildhall_domain::ids::{AttemptId, PlaceId, RunId, TenantId};
use guildhall_domain::runs::policy::BackendProfile;
use secrecy::SecretString;

use secrets::SecretError;

/// Starts runners and says how they do. Every call may be repeated.
pub trait Launcher: fmt::Debug + Send + Sync {
    /// The sort of launcher, as it is stored with each job.
    fn kind(&self) -> &'static str;

    /// Which of its sort this is. Servers with the same place look after each other's processes.
    fn place(&self) -> PlaceId;

    /// Refuses a profile that no runner could be given for runs of a tenant; without one, for runs of any.
    fn check(&self, tenant: Option<TenantId>, profile: &BackendProfile) -> Result<(), NoProfile>;

    /// Says whether agents are kept from what is not theirs on the machine where their runners run.
    fn is_contained(&self) -> bool;

    /// Starts the process of an attempt, unless it was started before.
    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<(), LaunchError>>;

    /// Looks at the process of an attempt. That it has ended is a proof: nothing that it started is left.
    fn look(&self, attempt: AttemptId) -> BoxFuture<'_, Result<Seen, LaunchError>>;

    /// Ends the process of an attempt with all that it started, now.
    fn end(&self, attempt: AttemptId) -> BoxFuture<'_, Result<Seen, LaunchError>>;

    /// Is told that this server ends. Runners outlive it, unless they were started to end with it.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A runner to start.
#[derive(Debug, Clone)]
pub struct Launch {
    pub attempt: AttemptId,
    /// The tenant of the run; none for a warm one, which may get a run of any.
    pub tenant: Option<TenantId>,
    pub profile: BackendProfile,
    /// The one run to serve; whichever comes without it.
    pub run: Option<RunId>,
    /// What it registers and claims with. It goes into a file that the runner alone reads.
    pub enrolment: SecretString,
}

/// How the process of an attempt does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It was never started here, or nothing is known of it any more.
    Absent,
    Running,
    Ended(End),
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    Exited(i32),
    Killed(i32),
    /// It is dead, and the server that would have seen how has ended before.
    Unseen,
}

/// A profile that no runner can be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no runner can be started for the profile `{0}`: set its credential, or have those who run this server set it up"
)]
pub struct NoProfile(pub String);

/// Why a launcher could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(transparent)]
    Profile(#[from] NoProfile),
    #[error("cannot hand over the profile")]
    Secret(#[source] SecretError),
    #[error("cannot {act} {what}")]
    Io {
        act: &'static str,
        what: &'static str,
        #[source]
        source: std::io::Error,
    },
    #[error("another server is at it")]
    Busy,
    #[error("the launcher has ended")]
    Closed,
}

impl From<SecretError> for LaunchError {
    /// What was removed meanwhile is not there for the next try either.
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::Missing(profile) => Self::Profile(NoProfile(profile.as_str().to_owned())),
            error @ (SecretError::Open(_) | SecretError::Form(_) | SecretError::Io { .. }) => {
                Self::Secret(error)
            }
        }
    }
}

impl LaunchError {
    fn io(act: &'static str, what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { act, what, source }
    }
}
