//! What can go wrong in a use case.

use guildhall_domain::caller::Denied;
use guildhall_domain::invitation::InvitationRefusal;
use guildhall_domain::role::MemberRefusal;
use guildhall_domain::{Failure, FailureKind};
use guildhall_store::StoreError;
use jiff::Timestamp;

use crate::oidc::{ProviderError, Refusal};
use crate::signing::SigningError;

/// A failure with its internal cause. Callers see the failure; the log sees the cause.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("the store failed")]
    Store(#[from] StoreError),
    #[error("the signing keys failed")]
    Signing(#[from] SigningError),
    #[error("no key can sign now")]
    CannotSign,
    #[error("too much waits")]
    Overloaded,
    /// Nobody valid is behind the token. The same words for every reason.
    #[error("no valid token")]
    Unauthenticated,
    #[error("the name or the password is wrong")]
    SignInFailed,
    #[error("too many failed sign-ins")]
    SignInLocked { until: Timestamp },
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error(transparent)]
    Member(#[from] MemberRefusal),
    #[error(transparent)]
    Invitation(#[from] InvitationRefusal),
    #[error("a sign-in through the identity provider was refused")]
    SignInRefused(#[from] Refusal),
    #[error("the identity provider failed")]
    Provider(#[from] ProviderError),
    #[error("the name `{0}` is taken")]
    NameTaken(String),
    #[error("the idempotency key was used for something else")]
    KeyReused,
    #[error("{0}")]
    Invalid(String),
}

impl ServiceError {
    pub const NOT_FOUND: Self = Self::Denied(Denied::NotFound);

    /// Returns what a caller may know.
    #[must_use]
    pub fn failure(&self) -> Failure {
        match self {
            Self::Store(StoreError::Unavailable(_))
            | Self::Signing(SigningError::Store(StoreError::Unavailable(_))) => Failure::new(
                FailureKind::InfraFailed,
                "PostgreSQL does not answer; try again in a few seconds, with the same idempotency key if there was one",
            ),
            Self::Store(StoreError::Closed) => {
                Failure::new(FailureKind::NotReady, "this server is shutting down; ask another replica")
            }
            Self::Store(StoreError::Refused(_) | StoreError::Address)
            | Self::Signing(_)
            | Self::CannotSign => Failure::new(
                FailureKind::Internal,
                "the server could not do this; its log says why under the trace id",
            ),
            Self::Overloaded => {
                Failure::new(FailureKind::Overloaded, "too much waits to be written; try again in a moment")
            }
            Self::Unauthenticated => Failure::new(
                FailureKind::Unauthenticated,
                "no valid token came with the request: sign in at POST /api/v1/auth/login and send `Authorization: Bearer …`",
            ),
            Self::SignInFailed => {
                Failure::new(FailureKind::SignInFailed, "the name or the password is wrong")
            }
            Self::SignInLocked { until } => Failure::new(
                FailureKind::SignInLocked,
                format!("too many failed attempts; try again after {until}"),
            ),
            Self::Denied(denied @ Denied::NotFound) => {
                Failure::new(FailureKind::NotFound, denied.to_string())
            }
            Self::Denied(denied @ Denied::Forbidden(_)) => {
                Failure::new(FailureKind::Forbidden, denied.to_string())
            }
            Self::Member(refusal @ (MemberRefusal::NotYours | MemberRefusal::AboveYou(_))) => {
                Failure::new(FailureKind::Forbidden, refusal.to_string())
            }
            Self::Member(refusal @ MemberRefusal::LastOwner) => {
                Failure::new(FailureKind::Conflict, refusal.to_string())
            }
            Self::Invitation(refusal @ InvitationRefusal::Invalid) => {
                Failure::new(FailureKind::NotFound, refusal.to_string())
            }
            Self::Invitation(refusal @ InvitationRefusal::AlreadyMember(_)) => {
                Failure::new(FailureKind::Conflict, refusal.to_string())
            }
            Self::SignInRefused(refusal) => Failure::new(FailureKind::SignInRefused, words_for(refusal)),
            Self::Provider(_) => Failure::new(
                FailureKind::InfraFailed,
                "the identity provider cannot be used now; try again in a moment",
            ),
            Self::NameTaken(_) => Failure::new(FailureKind::Conflict, format!("{self}: choose another")),
            Self::KeyReused => Failure::new(
                FailureKind::IdempotencyConflict,
                "this Idempotency-Key was used for another request: use a new one for a new request",
            ),
            Self::Invalid(words) => Failure::new(FailureKind::SchemaInvalid, words.clone()),
        }
    }
}

/// Says what to do after a refused sign-in. What exactly did not check is for the audit log.
fn words_for(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NoCookie | Refusal::State | Refusal::NotOpen => {
            "this answer belongs to no sign-in that this browser has open: begin again"
        }
        Refusal::Denied(_) => {
            "the identity provider refused the sign-in: begin again, or ask those who run it"
        }
        Refusal::Issuer | Refusal::Code | Refusal::IdToken(_) => {
            "what the identity provider said does not check: begin again; if it stays, those who run this server find \
             the reason in the audit log"
        }
        Refusal::UnknownSubject { .. } => {
            "you have no account here: ask an owner or operator of a tenant for an invitation"
        }
        Refusal::Invitation => "the invitation is not valid, or no longer: ask for a new one",
        Refusal::Disabled => "this account is disabled: ask those who run this server",
        Refusal::Handoff => {
            "this code is not valid, was used, or came without its proof: run `guildhall login` again"
        }
    }
}
