//! Why a request about a run fails.

use guildhall_domain::agents::end_users::EndUserLimitError;
use guildhall_domain::ids::{AttachmentId, RunId};
use guildhall_domain::runs::CloseError;
use guildhall_domain::runs::command::CommandError;
use guildhall_domain::runs::policy::PolicyViolation;
use guildhall_domain::{Failure, FailureKind};
use guildhall_identity::seal::SealError;

use crate::failures::server_error;

/// An error of a run, a command or a session.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the caller is not a member of the tenant")]
    NotYourTenant,
    #[error(transparent)]
    Policy(#[from] PolicyViolation),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Close(#[from] CloseError),
    #[error("the lease is lost: the run is held under another epoch, or has ended")]
    LeaseLost,
    #[error("the session has an open run")]
    RunOpen(Option<RunId>),
    #[error("the session belongs to the backend profile `{0}`")]
    OtherProfile(String),
    #[error("the storage of the session was evicted")]
    StorageEvicted,
    #[error("the run has no changes")]
    NoChanges,
    #[error("the changes are those of an earlier turn")]
    StaleChanges,
    #[error("the workspace of the run is not a bundle")]
    NoBundle,
    #[error("the bundle has {0} parts")]
    NoBundlePart(u64),
    #[error("the bundle was erased when the run ended")]
    BundleErased,
    #[error("{0} parts of the bundle are missing")]
    BundleIncomplete(u64),
    #[error("the attachment {0} was removed")]
    AttachmentRemoved(AttachmentId),
    #[error("the payload of a command: {0}")]
    Payload(SealError),
    #[error(transparent)]
    EndUserLimit(#[from] EndUserLimitError),
}

impl RunError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::NotYourTenant => Failure::new(
                FailureKind::TenantPolicyDenied,
                "tenantId: you are not a member of this tenant; `guildhall tenants ls` lists yours",
            ),
            Self::Policy(violation) => Failure::new(violation.kind(), violation.to_string()),
            Self::Command(error) => Failure::new(FailureKind::Conflict, error.to_string()),
            Self::Close(error) => Failure::new(FailureKind::Conflict, error.to_string()),
            Self::LeaseLost => Failure::new(
                FailureKind::RunnerLeaseConflict,
                "the lease of this run is lost: stop the backend, another runner may hold the run",
            ),
            Self::RunOpen(active) => run_open(*active),
            Self::EndUserLimit(error) => end_user_limit(*error),
            Self::OtherProfile(profile) => Failure::new(
                FailureKind::Conflict,
                format!(
                    "this session belongs to the backend profile `{profile}`: use this profile, or omit sessionRef to create a session"
                ),
            ),
            Self::StorageEvicted => Failure::new(
                FailureKind::SessionStoreEvicted,
                "the storage of this session was evicted, and its thread with it: create a new session",
            ),
            Self::NoChanges => Failure::new(
                FailureKind::NotFound,
                "this run has no changes: none of its turns has ended, its workspace is not a copy or a Git repository, or \
                 they were deleted",
            ),
            Self::StaleChanges => Failure::new(
                FailureKind::Conflict,
                "the changes of the last turn are not there: it still runs, or they could not be collected (they may be \
                 larger than 1 MiB); wait until it ends, or send another turn",
            ),
            Self::NoBundle => Failure::new(
                FailureKind::Conflict,
                "the workspace of this run is not a bundle: create a run with workspaceRef.kind bundle",
            ),
            Self::NoBundlePart(parts) => Failure::new(
                FailureKind::NotFound,
                format!("there is no such part: the bundle has {parts}, counted from 0"),
            ),
            Self::BundleErased => Failure::new(
                FailureKind::Conflict,
                "the run has ended, and its bundle was erased: create a new run",
            ),
            Self::BundleIncomplete(missing) => Failure::new(
                FailureKind::Conflict,
                format!(
                    "{missing} parts of the bundle are missing: upload all of them before the first command"
                ),
            ),
            Self::AttachmentRemoved(_) => Failure::new(
                FailureKind::InvalidInput,
                "binary content url: the attachment was removed: upload it again",
            ),
            Self::Payload(_) => server_error(),
        }
    }
}

fn end_user_limit(error: EndUserLimitError) -> Failure {
    let failure = Failure::new(FailureKind::RateLimited, error.to_string());
    match error.retry_after() {
        Some(wait) => failure.with_retry_after(wait),
        None => failure,
    }
}

fn run_open(active: Option<RunId>) -> Failure {
    let which = active.map_or(String::new(), |active| format!(" ({active})"));
    let message = format!("the session has an open run{which}: send it a command, or cancel it first");
    let failure = Failure::new(FailureKind::Conflict, message);
    match active {
        Some(active) => failure.with_detail("activeRunId", active),
        None => failure,
    }
}
