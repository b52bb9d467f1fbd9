//! Why something is not done to a run.

use guildhall_domain::ids::RunId;
use guildhall_domain::runners::job::JobRefusal;
use guildhall_domain::runs::command::CommandRefusal;
use guildhall_domain::runs::event::InvalidEvent;
use guildhall_domain::runs::lease::ClaimRefusal;
use guildhall_domain::runs::policy;
use guildhall_domain::{Failure, FailureKind, journal};
use guildhall_launcher::NoProfile;

use crate::ServiceError;

/// A refusal, as the log sees it.
#[derive(Debug, thiserror::Error)]
pub enum RunRefusal {
    #[error("the tenant is not one that the caller belongs to")]
    NotYourTenant,
    #[error(transparent)]
    Policy(#[from] policy::Refusal),
    #[error(transparent)]
    Command(#[from] CommandRefusal),
    #[error(transparent)]
    Claim(#[from] ClaimRefusal),
    #[error(transparent)]
    Job(#[from] JobRefusal),
    #[error(transparent)]
    NoProfile(#[from] NoProfile),
    #[error("this server starts no runners")]
    NoLauncher,
    #[error(transparent)]
    Event(#[from] InvalidEvent),
    #[error(transparent)]
    Journal(#[from] journal::Refusal),
    #[error("the run is not held under this epoch any more")]
    LeaseLost,
    #[error("a command still runs")]
    StillRunning,
    #[error("a run of this session is open")]
    RunOpen(Option<RunId>),
    #[error("the session belongs to the backend profile `{0}`")]
    OtherProfile(String),
    #[error("the storage of the session was evicted")]
    StorageEvicted,
}

impl RunRefusal {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::NotYourTenant => Failure::new(
                FailureKind::TenantPolicyDenied,
                "tenantId: not a tenant that you belong to; `guildhall tenants ls` lists yours",
            ),
            Self::Policy(refusal) => Failure::new(refusal.kind(), refusal.to_string()),
            Self::Command(refusal) => Failure::new(FailureKind::Conflict, refusal.to_string()),
            Self::Claim(refusal) => of_claim(refusal),
            Self::Job(refusal) => of_job(refusal),
            Self::NoProfile(refusal) => Failure::new(FailureKind::SecretUnavailable, refusal.to_string()),
            Self::NoLauncher => Failure::new(
                FailureKind::Conflict,
                "this server starts no runners (launcher.kind): start one with an enrolment token of yours",
            ),
            Self::Event(invalid) => Failure::new(FailureKind::SchemaInvalid, invalid.to_string()),
            Self::Journal(refusal @ journal::Refusal::Stale { .. }) => Failure::new(
                FailureKind::RunnerLeaseConflict,
                format!("{refusal}: stop the backend, the run is no longer yours"),
            ),
            Self::Journal(refusal @ (journal::Refusal::Conflict(_) | journal::Refusal::Twice(_))) => {
                Failure::new(FailureKind::Conflict, refusal.to_string())
            }
            Self::LeaseLost => Failure::new(
                FailureKind::RunnerLeaseConflict,
                "the run is not held under this lease any more: stop the backend, the run is no longer yours",
            ),
            Self::StillRunning => {
                Failure::new(FailureKind::Conflict, "a command still runs: end it before giving the run back")
            }
            Self::RunOpen(active) => of_open(*active),
            Self::StorageEvicted => Failure::new(
                FailureKind::SessionStoreEvicted,
                "the storage of this session was evicted, and its thread with it: begin a new session",
            ),
            Self::OtherProfile(profile) => Failure::new(
                FailureKind::Conflict,
                format!(
                    "this session belongs to the backend profile `{profile}`: threads are not shared between profiles"
                ),
            ),
        }
    }
}

fn of_claim(refusal: &ClaimRefusal) -> Failure {
    match refusal {
        ClaimRefusal::Held { owner, expires_at } => {
            Failure::new(FailureKind::RunnerLeaseConflict, refusal.to_string())
                .with("owner", owner)
                .with("leaseExpiresAt", expires_at)
        }
        ClaimRefusal::Ended(_) | ClaimRefusal::Cancelling => {
            Failure::new(FailureKind::Conflict, refusal.to_string())
        }
    }
}

fn of_job(refusal: &JobRefusal) -> Failure {
    let words = refusal.to_string();
    match refusal {
        JobRefusal::StorageEvicted => Failure::new(FailureKind::SessionStoreEvicted, words),
        JobRefusal::Held { owner, expires_at } => Failure::new(FailureKind::RunnerLeaseConflict, words)
            .with("owner", owner)
            .with("leaseExpiresAt", expires_at),
        JobRefusal::Started(job) => Failure::new(FailureKind::Conflict, words).with("runnerJobId", job),
        JobRefusal::RunEnded(_)
        | JobRefusal::RunCancelling
        | JobRefusal::NothingPending
        | JobRefusal::NotPending => Failure::new(FailureKind::Conflict, words),
    }
}

fn of_open(active: Option<RunId>) -> Failure {
    let which = active.map_or(String::new(), |active| format!(" ({active})"));
    let words = format!("a run of this session is open{which}: send it a command, or cancel it first");
    let failure = Failure::new(FailureKind::Conflict, words);
    match active {
        Some(active) => failure.with("activeRunId", active),
        None => failure,
    }
}

/// What `domain` refuses becomes a failure of a use case in one step.
macro_rules! from_domain {
    ($($refusal:ty),+) => {
        $(impl From<$refusal> for ServiceError {
            fn from(refusal: $refusal) -> Self {
                Self::Run(refusal.into())
            }
        })+
    };
}

from_domain!(
    policy::Refusal,
    CommandRefusal,
    ClaimRefusal,
    JobRefusal,
    NoProfile,
    InvalidEvent,
    journal::Refusal
);
