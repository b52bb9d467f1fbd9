//! What can go wrong in a use case.

use guildhall_domain::caller::Denied;
use guildhall_domain::ids::RunId;
use guildhall_domain::invitation::InvitationRefusal;
use guildhall_domain::journal;
use guildhall_domain::rate::{Rate, Standing, Tier};
use guildhall_domain::role::MemberRefusal;
use guildhall_domain::run::command::CommandRefusal;
use guildhall_domain::run::event::InvalidEvent;
use guildhall_domain::run::lease::ClaimRefusal;
use guildhall_domain::run_policy;
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
    #[error("the tenant is not one that the caller belongs to")]
    NotYourTenant,
    #[error(transparent)]
    Policy(#[from] run_policy::Refusal),
    #[error(transparent)]
    Command(#[from] CommandRefusal),
    #[error(transparent)]
    Claim(#[from] ClaimRefusal),
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
}

impl ServiceError {
    pub const NOT_FOUND: Self = Self::Denied(Denied::NotFound);

    /// Returns what a caller may know.
    #[must_use]
    pub fn failure(&self) -> Failure {
        match self {
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
            Self::Denied(denied @ Denied::NotFound) => {
                Failure::new(FailureKind::NotFound, denied.to_string())
            }
            Self::Denied(denied @ (Denied::Forbidden(_) | Denied::NotAKey)) => {
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
            Self::NotYourTenant => Failure::new(
                FailureKind::TenantPolicyDenied,
                "tenantId: not a tenant that you belong to; `guildhall tenants ls` lists yours",
            ),
            Self::Policy(refusal) => Failure::new(refusal.kind(), refusal.to_string()),
            Self::Command(refusal) => Failure::new(FailureKind::Conflict, refusal.to_string()),
            Self::Claim(refusal @ ClaimRefusal::Held { owner, expires_at }) => {
                Failure::new(FailureKind::RunnerLeaseConflict, refusal.to_string())
                    .with("owner", owner)
                    .with("leaseExpiresAt", expires_at)
            }
            Self::Claim(refusal @ (ClaimRefusal::Ended(_) | ClaimRefusal::Cancelling)) => {
                Failure::new(FailureKind::Conflict, refusal.to_string())
            }
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
            Self::RunOpen(active) => {
                let which = active.map_or(String::new(), |active| format!(" ({active})"));
                let failure = Failure::new(
                    FailureKind::Conflict,
                    format!("a run of this session is open{which}: send it a command, or cancel it first"),
                );
                match active {
                    Some(active) => failure.with("activeRunId", active),
                    None => failure,
                }
            }
            Self::OtherProfile(profile) => Failure::new(
                FailureKind::Conflict,
                format!(
                    "this session belongs to the backend profile `{profile}`: threads are not shared between profiles"
                ),
            ),
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
