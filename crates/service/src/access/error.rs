//! Why signing in, or a change of authority, fails.

use std::time::Duration;

use guildhall_domain::access::invitation::InvitationError;
use guildhall_domain::access::role::MembershipError;
use guildhall_domain::access::user::UserError;
use guildhall_domain::{Failure, FailureKind};
use guildhall_egress::EgressError;
use guildhall_identity::id_token::IdTokenError;
use guildhall_identity::seal::SealError;
use guildhall_identity::signing_key::KeyError;
use guildhall_store::StoreError;
use jiff::Timestamp;

use crate::failures::{postgres_unavailable, server_error};

/// The password checks of one client are done after this time.
const PASSWORD_CHECK_WAIT: Duration = Duration::from_secs(1);

/// Open sign-ins are completed or expire in minutes.
const OPEN_SIGN_IN_WAIT: Duration = Duration::from_secs(60);

/// An error of sign-in, tokens, members or invitations.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("cannot maintain the signing keys")]
    Signing(#[from] SigningError),
    #[error("no signing key is active")]
    CannotSign,
    #[error("the name or the password is wrong")]
    SignInFailed,
    #[error("too many failed sign-ins")]
    SignInLocked { until: Timestamp },
    #[error("the current password is wrong")]
    WrongCurrentPassword,
    #[error(transparent)]
    User(#[from] UserError),
    #[error("no user signs in with this name")]
    UnknownUserName,
    #[error("too many password checks of one client")]
    TooManyPasswordChecks,
    #[error("too many open sign-ins of one client")]
    TooManyOpenSignIns,
    #[error(transparent)]
    Member(#[from] MembershipError),
    #[error(transparent)]
    Invitation(#[from] InvitationError),
    #[error("a sign-in through the identity provider was refused")]
    Oidc(#[from] OidcError),
    #[error("the identity provider failed")]
    Provider(#[from] ProviderError),
}

/// Why the signing keys could not be maintained.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot use a stored signing key: was identity.key_encryption_key changed?")]
    Key(#[from] KeyError),
    #[error("cannot seal a new signing key")]
    Seal(#[from] SealError),
}

/// Why a sign-in through the identity provider is refused. The message goes to the log and the audit log; the caller
/// is told what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OidcError {
    #[error("the callback has no cookie of the browser that started the sign-in")]
    NoCookie,
    #[error("the callback belongs to a sign-in that another browser began (state)")]
    State,
    #[error("the sign-in has expired, or was completed before")]
    NotOpen,
    #[error("the callback names another issuer")]
    Issuer,
    #[error("the provider refused: {0}")]
    Denied(String),
    #[error("the provider did not accept the code")]
    Code,
    #[error(transparent)]
    IdToken(#[from] IdTokenError),
    #[error("no account is linked to subject {subject} of {issuer}, and no invitation was sent")]
    UnknownSubject { issuer: String, subject: String },
    #[error("the invitation is invalid or has expired")]
    Invitation,
    #[error("the account is disabled")]
    Disabled,
    #[error("the confirmation came without the token of our page")]
    ConfirmationToken,
    #[error("the hand-off code is invalid, was used, or came without its proof")]
    Handoff,
}

/// Why the identity provider could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    #[error("cannot call the identity provider")]
    Egress(#[from] EgressError),
    #[error("the identity provider answered {what} with status {status}")]
    Status { what: &'static str, status: u16 },
    #[error("the identity provider's {what} has an unexpected format")]
    Form { what: &'static str },
    #[error("the identity provider's issuer differs from oidc.issuer")]
    OtherIssuer,
    #[error("the identity provider's {what} is not a safe address")]
    UnsafeAddress { what: &'static str },
}

impl AccessError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Signing(SigningError::Store(StoreError::Unavailable(_))) => postgres_unavailable(),
            Self::Signing(_) | Self::CannotSign => server_error(),
            Self::SignInFailed => {
                Failure::new(FailureKind::SignInFailed, "the name or the password is wrong")
            }
            Self::SignInLocked { until } => Failure::new(
                FailureKind::SignInLocked,
                format!("too many failed attempts; try again after {until}"),
            ),
            Self::WrongCurrentPassword => Failure::new(FailureKind::SignInFailed, self.to_string()),
            Self::User(error) => user_failure(*error),
            Self::UnknownUserName => Failure::new(
                FailureKind::NotFound,
                "no user signs in with this name: check the name, or send an invitation",
            ),
            Self::TooManyPasswordChecks => Failure::new(
                FailureKind::RateLimited,
                "too many sign-ins from this address at once; try again in a moment",
            )
            .with_retry_after(PASSWORD_CHECK_WAIT),
            Self::TooManyOpenSignIns => Failure::new(
                FailureKind::RateLimited,
                "too many sign-ins from this address were started and not completed; try again in a minute",
            )
            .with_retry_after(OPEN_SIGN_IN_WAIT),
            Self::Member(error) => member_failure(*error),
            Self::Invitation(error) => invitation_failure(error),
            Self::Oidc(error) => Failure::new(FailureKind::SignInRefused, next_step(error)),
            Self::Provider(_) => Failure::new(
                FailureKind::InfraFailed,
                "the identity provider cannot be used now; try again in a moment",
            ),
        }
    }
}

fn member_failure(error: MembershipError) -> Failure {
    let kind = match error {
        MembershipError::NotAllowed | MembershipError::RoleTooHigh(_) => FailureKind::Forbidden,
        MembershipError::LastOwner | MembershipError::AlreadyMember(_) => FailureKind::Conflict,
    };
    Failure::new(kind, error.to_string())
}

fn user_failure(error: UserError) -> Failure {
    let kind = match error {
        UserError::LastOperator | UserError::NoPassword => FailureKind::Conflict,
        UserError::OwnPassword => FailureKind::Forbidden,
    };
    Failure::new(kind, error.to_string())
}

fn invitation_failure(error: &InvitationError) -> Failure {
    let kind = match error {
        InvitationError::Invalid => FailureKind::NotFound,
        InvitationError::AlreadyMember(_) => FailureKind::Conflict,
    };
    Failure::new(kind, error.to_string())
}

/// Returns what to do after a refused sign-in. Only the audit log says which check failed.
fn next_step(error: &OidcError) -> &'static str {
    match error {
        OidcError::NoCookie | OidcError::State | OidcError::NotOpen | OidcError::ConfirmationToken => {
            "this browser has no open sign-in for this callback: sign in again"
        }
        OidcError::Denied(_) => {
            "the identity provider refused the sign-in: sign in again, or ask its administrator"
        }
        OidcError::Issuer | OidcError::Code | OidcError::IdToken(_) => {
            "the response of the identity provider is invalid: sign in again; if it happens again, the operator finds \
             the reason in the audit log"
        }
        OidcError::UnknownSubject { .. } => {
            "you have no account here: ask an owner or operator of a tenant for an invitation"
        }
        OidcError::Invitation => "the invitation is invalid or has expired: ask for a new one",
        OidcError::Disabled => "this account is disabled: ask the operator of this server",
        OidcError::Handoff => {
            "this code is invalid, was used, or came without its proof: run `guildhall login` again"
        }
    }
}
