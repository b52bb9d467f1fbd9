//! What can go wrong in a use case.

use guildhall_domain::access::caller::Denied;
use guildhall_domain::access::invitation::InvitationRefusal;
use guildhall_domain::access::role::MemberRefusal;
use guildhall_domain::ops::rate::{Rate, Standing, Tier};
use guildhall_domain::{Failure, FailureKind};
use guildhall_store::StoreError;
use jiff::Timestamp;

use crate::access::oidc::{ProviderError, Refusal};
use crate::access::signing::SigningError;
use crate::profiles::ProfileRefusal;
use crate::runs::RunRefusal;

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
    #[error("the rate of {tier} is used up")]
    RateLimited { tier: Tier, rate: Rate, standing: Standing },
    /// Somebody else of the same caller tried to borrow permits, and failed; or they ended on their way.
    #[error("no permits could be borrowed")]
    NoPermits,
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
    #[error(transparent)]
    Run(#[from] RunRefusal),
    #[error(transparent)]
    Profile(#[from] ProfileRefusal),
}

impl ServiceError {
    pub const NOT_FOUND: Self = Self::Denied(Denied::NotFound);

    /// Returns what a caller may know.
    #[must_use]
    pub fn failure(&self) -> Failure {
        match self {
            Self::Run(refusal) => refusal.failure(),
            Self::Profile(refusal) => refusal.failure(),
            Self::Denied(denied) => of_denied(*denied),
            Self::Member(refusal) => of_member(*refusal),
            Self::Invitation(refusal) => of_invitation(refusal),
            Self::Store(StoreError::Unavailable(_))
            | Self::Signing(SigningError::Store(StoreError::Unavailable(_)))
            | Self::NoPermits => Failure::new(
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
            Self::RateLimited { tier, rate, standing } => Failure::new(
                FailureKind::RateLimited,
                format!("too many requests of the tier {tier}: {rate} are allowed; wait for the next window"),
            )
            .after(standing.resets_in),
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

fn of_denied(denied: Denied) -> Failure {
    let kind = match denied {
        Denied::NotFound => FailureKind::NotFound,
        Denied::Forbidden(_) | Denied::NotAKey => FailureKind::Forbidden,
    };
    Failure::new(kind, denied.to_string())
}

fn of_member(refusal: MemberRefusal) -> Failure {
    let kind = match refusal {
        MemberRefusal::NotYours | MemberRefusal::AboveYou(_) => FailureKind::Forbidden,
        MemberRefusal::LastOwner => FailureKind::Conflict,
    };
    Failure::new(kind, refusal.to_string())
}

fn of_invitation(refusal: &InvitationRefusal) -> Failure {
    let kind = match refusal {
        InvitationRefusal::Invalid => FailureKind::NotFound,
        InvitationRefusal::AlreadyMember(_) => FailureKind::Conflict,
    };
    Failure::new(kind, refusal.to_string())
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
