//! Why a request of an application fails.

use guildhall_domain::front::attachment::{InvalidImage, UnreferencedQuotaExceeded};
use guildhall_domain::front::interrupt_answer::InvalidInterruptAnswer;
use guildhall_domain::ids::ApprovalId;
use guildhall_domain::{Failure, FailureKind};
use guildhall_identity::e2ee::SealingError;

use super::object_storage::ObjectStorageError;

#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    #[error(
        "the tenant has no default agent: name one with agentId, or set one with `guildhall agents update AGENT --default`"
    )]
    NoDefaultAgent,
    #[error("the agent `{0}` is disabled: it takes no new turns")]
    AgentDisabled(String),
    #[error("the automation `{0}` is disabled: it starts no runs")]
    AutomationDisabled(String),
    #[error("agentId: the automation is for another agent: leave it out")]
    OtherAgent,
    #[error("the turn has no message")]
    NoMessage,
    #[error("the runs of this thread end as fast as they are created: try again")]
    NoOpenRun,
    #[error("resume: the thread has no interrupt `{0}`")]
    UnknownInterrupt(ApprovalId),
    #[error("resume: `{0}`: {1}")]
    InterruptAnswer(ApprovalId, InvalidInterruptAnswer),
    #[error("resume: answer the interrupts of one run at a time")]
    SeveralTurns,
    #[error("resume: the agent continues when all interrupts of its turn are answered")]
    OpenInterrupts,
    #[error("resume: the run has ended: follow the thread to see how")]
    RunEnded,
    #[error(
        "this server stores no attachments: set attachments.folder or attachments.bucket in its configuration"
    )]
    NoAttachmentStorage,
    #[error("the storage of attachments is unavailable; try again later")]
    AttachmentStorage(#[from] ObjectStorageError),
    #[error("the attachment has more than {0} bytes")]
    AttachmentTooLarge(u64),
    #[error("the body is incomplete")]
    IncompleteAttachment,
    #[error(transparent)]
    InvalidImage(#[from] InvalidImage),
    #[error("{0}: use them in a run, or wait until they are removed")]
    AttachmentQuota(#[from] UnreferencedQuotaExceeded),
    /// The same for every reason.
    #[error(
        "binary content url: must be a signed URL of your own, from POST /api/v1/agent/attachments, that has not expired"
    )]
    InvalidAttachmentUrl,
    #[error("the agent has no inbox: give it one with `guildhall agents inbox AGENT`")]
    NoInbox,
    #[error("name: the agent has the AID `{0}`, which cannot be changed")]
    OtherAid(String),
    #[error("the agent runs elsewhere, with an AID of its own: remove that first")]
    OwnAid,
    #[error("name: the slug of the agent cannot be the name of an AID: choose a name")]
    SlugIsNoName,
    #[error("cannot create the key of the agent")]
    AgentKey,
    #[error("cannot seal the answer")]
    SealAnswer(#[source] SealingError),
}

impl FrontError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        let kind = match self {
            Self::NoDefaultAgent
            | Self::AgentDisabled(_)
            | Self::AutomationDisabled(_)
            | Self::NoOpenRun
            | Self::OpenInterrupts
            | Self::RunEnded
            | Self::NoAttachmentStorage
            | Self::OtherAid(_)
            | Self::OwnAid
            | Self::SlugIsNoName => FailureKind::Conflict,
            Self::NoInbox => FailureKind::NotFound,
            Self::AgentKey | Self::SealAnswer(_) => FailureKind::Internal,
            Self::UnknownInterrupt(_)
            | Self::InterruptAnswer(..)
            | Self::SeveralTurns
            | Self::OtherAgent
            | Self::NoMessage
            | Self::InvalidImage(_)
            | Self::InvalidAttachmentUrl => FailureKind::InvalidInput,
            Self::AttachmentStorage(_) => FailureKind::InfraFailed,
            Self::AttachmentTooLarge(_) => FailureKind::PayloadTooLarge,
            Self::IncompleteAttachment => FailureKind::SchemaInvalid,
            Self::AttachmentQuota(_) => FailureKind::TenantPolicyDenied,
        };
        Failure::new(kind, self.to_string())
    }
}
