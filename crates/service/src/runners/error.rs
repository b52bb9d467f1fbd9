//! Why a request of a runner, or for a runner, fails.

use guildhall_domain::ids::CommandId;
use guildhall_domain::journal::AppendRejection;
use guildhall_domain::runners::job::JobError;
use guildhall_domain::runs::event::InvalidEvent;
use guildhall_domain::runs::lease::ClaimError;
use guildhall_domain::{Failure, FailureKind};
use guildhall_launcher::ProfileUnavailable;

/// An error of a claim, a lease, an append or a runner job.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    #[error(transparent)]
    Claim(#[from] ClaimError),
    #[error(transparent)]
    Job(#[from] JobError),
    #[error(transparent)]
    NoProfile(#[from] ProfileUnavailable),
    #[error("this server starts no runners")]
    NoLauncher,
    #[error(transparent)]
    Event(#[from] InvalidEvent),
    #[error(transparent)]
    Append(#[from] AppendRejection),
    #[error("commandId: the run has no command {0}")]
    UnknownCommand(CommandId),
    #[error("the events of this run use the {0} bytes of runs.max_event_bytes_per_run")]
    RunQuota(u64),
    #[error("a command still runs")]
    StillRunning,
    #[error("the runner is draining")]
    Draining,
}

impl RunnerError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Claim(error) => claim_failure(error),
            Self::Job(error) => job_failure(error),
            Self::NoProfile(error) => Failure::new(FailureKind::SecretUnavailable, error.to_string()),
            Self::NoLauncher => Failure::new(
                FailureKind::Conflict,
                "this server starts no runners (launcher.kind): start one yourself with an enrolment token",
            ),
            Self::Event(invalid) => Failure::new(FailureKind::SchemaInvalid, invalid.to_string()),
            Self::Append(rejection @ AppendRejection::StaleEpoch { .. }) => Failure::new(
                FailureKind::RunnerLeaseConflict,
                format!("{rejection}: stop the backend, another runner may hold the run"),
            ),
            Self::Append(rejection @ (AppendRejection::Conflict(_) | AppendRejection::Duplicate(_))) => {
                Failure::new(FailureKind::Conflict, rejection.to_string())
            }
            Self::UnknownCommand(_) => Failure::new(FailureKind::SchemaInvalid, self.to_string()),
            Self::RunQuota(_) => Failure::new(
                FailureKind::TenantPolicyDenied,
                format!("{self}: end the run, and continue its session with another one"),
            ),
            Self::Draining => Failure::new(
                FailureKind::Conflict,
                "this runner is draining and gets no more runs: start another one",
            ),
            Self::StillRunning => {
                Failure::new(FailureKind::Conflict, "a command still runs: end it before releasing the run")
            }
        }
    }
}

fn claim_failure(error: &ClaimError) -> Failure {
    match error {
        ClaimError::Held { owner, expires_at } => {
            Failure::new(FailureKind::RunnerLeaseConflict, error.to_string())
                .with_detail("owner", owner)
                .with_detail("leaseExpiresAt", expires_at)
        }
        ClaimError::Ended(_) | ClaimError::Cancelling => {
            Failure::new(FailureKind::Conflict, error.to_string())
        }
    }
}

fn job_failure(error: &JobError) -> Failure {
    let message = error.to_string();
    match error {
        JobError::StorageEvicted | JobError::StorageMissing => {
            Failure::new(FailureKind::SessionStoreEvicted, message)
        }
        JobError::RunHeld { owner, expires_at } => Failure::new(FailureKind::RunnerLeaseConflict, message)
            .with_detail("owner", owner)
            .with_detail("leaseExpiresAt", expires_at),
        JobError::AlreadyStarted(job) => {
            Failure::new(FailureKind::Conflict, message).with_detail("runnerJobId", job)
        }
        JobError::RunEnded(_)
        | JobError::RunCancelling
        | JobError::NoPendingCommand
        | JobError::CommandNotPending => Failure::new(FailureKind::Conflict, message),
    }
}
