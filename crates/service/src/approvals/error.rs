//! Why a request about an approval fails.

use guildhall_domain::approvals::form::InvalidContent;
use guildhall_domain::approvals::policy::InvalidPolicy;
use guildhall_domain::approvals::question::InvalidQuestion;
use guildhall_domain::approvals::rule::NotRememberable;
use guildhall_domain::approvals::state::{ApprovalState, DecisionError, WrongState};
use guildhall_domain::approvals::voter::{VoterError, WithdrawalError};
use guildhall_domain::{Failure, FailureKind};
use guildhall_identity::seal::SealError;

use crate::failures::server_error;

/// An error of a question or of an answer.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    #[error(transparent)]
    Question(#[from] InvalidQuestion),
    #[error("a question has at most {0} bytes")]
    TooLarge(usize),
    #[error("a turn has at most {0} open questions")]
    TooMany(usize),
    #[error("another question has the same request id of the same process")]
    OtherQuestion,
    #[error("only a running turn can ask")]
    NoRunningTurn,
    #[error(transparent)]
    Voter(#[from] VoterError),
    #[error(transparent)]
    Withdrawal(#[from] WithdrawalError),
    /// It is not pending.
    #[error("the approval is {}", .0.status())]
    AlreadyDecided(Box<ApprovalState>),
    #[error("the question has expired and is denied")]
    Expired,
    /// The voter has chosen this option before, or has given other values with it.
    #[error("you have answered with `{0}` already, and an answer cannot be changed")]
    OtherAnswer(String),
    #[error("the shown digest is not that of the question")]
    NotShown,
    #[error("the question has no such option")]
    UnknownOption,
    /// The values are missing, are not wanted, or do not fit the form.
    #[error("{0}")]
    Content(InvalidContent),
    #[error(transparent)]
    Policy(#[from] InvalidPolicy),
    #[error("the policy has been changed: it has version {0}")]
    PolicyChanged(u32),
    #[error("the designated approver is not a member of the tenant")]
    UnknownApprover,
    #[error(transparent)]
    NotRememberable(#[from] NotRememberable),
    #[error("only its author, and members with the permission approvals:decide, can revoke a rule")]
    NotYourRule,
    #[error(transparent)]
    Decision(#[from] DecisionError),
    #[error(transparent)]
    State(#[from] WrongState),
    #[error("the question: {0}")]
    Seal(SealError),
    #[error("the stored question cannot be read")]
    UnreadableQuestion,
}

impl ApprovalError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Question(_) | Self::TooLarge(_) => {
                Failure::new(FailureKind::SchemaInvalid, format!("question: {self}"))
            }
            Self::TooMany(_)
            | Self::OtherQuestion
            | Self::NoRunningTurn
            | Self::State(_)
            | Self::Expired
            | Self::PolicyChanged(_) => Failure::new(FailureKind::Conflict, self.to_string()),
            Self::NotRememberable(_) => Failure::new(FailureKind::SchemaInvalid, format!("remember: {self}")),
            Self::NotYourRule => Failure::new(FailureKind::Forbidden, self.to_string()),
            Self::Policy(_) => Failure::new(FailureKind::SchemaInvalid, self.to_string()),
            Self::UnknownApprover => Failure::new(FailureKind::SchemaInvalid, format!("approverId: {self}")),
            Self::Withdrawal(error) => Failure::new(FailureKind::Forbidden, error.to_string()),
            Self::Voter(error) => Failure::new(FailureKind::Forbidden, error.to_string()),
            Self::AlreadyDecided(state) => already_decided(state),
            Self::OtherAnswer(option) => {
                Failure::new(FailureKind::Conflict, self.to_string()).with_detail("optionId", option)
            }
            Self::NotShown => Failure::new(
                FailureKind::Conflict,
                "shownDigest: this is not the digest of the question: read it again before you answer",
            ),
            Self::UnknownOption => Failure::new(
                FailureKind::SchemaInvalid,
                "optionId: the question has no such option; its options are in the approval",
            ),
            Self::Content(error) => content_failure(error),
            Self::Decision(error) => Failure::new(FailureKind::Forbidden, error.to_string()),
            Self::Seal(_) | Self::UnreadableQuestion => server_error(),
        }
    }
}

/// Names the field, and never its value.
fn content_failure(error: &InvalidContent) -> Failure {
    match error {
        InvalidContent::Missing | InvalidContent::NotExpected | InvalidContent::TooLarge => {
            Failure::new(FailureKind::SchemaInvalid, format!("content: {error}"))
        }
        InvalidContent::Field { name, problem } => {
            Failure::new(FailureKind::SchemaInvalid, format!("content.{name}: {problem}"))
                .with_detail("field", name)
        }
    }
}

/// Says who was first, and with which answer.
fn already_decided(state: &ApprovalState) -> Failure {
    let status = state.status();
    let failure = match state.decision() {
        Some(decision) => {
            let by = decision.by().names().join(", ");
            let message =
                format!("already answered with `{}` by {by}; the approval is {status}", decision.option());
            Failure::new(FailureKind::Conflict, message)
                .with_detail("optionId", decision.option())
                .with_detail("decidedBy", by)
        }
        None => Failure::new(
            FailureKind::Conflict,
            format!("the approval is {status}: nobody waits for an answer"),
        ),
    };
    failure.with_detail("approvalStatus", status)
}
