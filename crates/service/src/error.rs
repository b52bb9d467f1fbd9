//! Why a use case fails.

use guildhall_domain::access::caller::AccessDenied;
use guildhall_domain::{Failure, FailureKind};
use guildhall_store::StoreError;

use crate::access::error::AccessError;
use crate::agents::error::AgentError;
use crate::approvals::error::ApprovalError;
use crate::failures::{postgres_unavailable, server_error};
use crate::front::error::FrontError;
use crate::identity::error::IdentityError;
use crate::messages::MessageError;
use crate::ops::rates::error::RateError;
use crate::profiles::error::ProfileError;
use crate::relations::error::RelationError;
use crate::runners::error::RunnerError;
use crate::runs::error::RunError;
use crate::webhooks::error::WebhookError;

/// A failure with its internal cause: a variant per group, and what every group shares. Callers see
/// [`ServiceError::failure`]; the log sees the cause.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("the store failed")]
    Store(#[from] StoreError),
    #[error("too many concurrent requests")]
    Overloaded,
    /// No valid token. The same for every reason.
    #[error("no valid token")]
    Unauthenticated,
    #[error(transparent)]
    Denied(#[from] AccessDenied),
    #[error("the name `{0}` is taken")]
    NameTaken(String),
    #[error("the idempotency key was used for another request")]
    KeyReused,
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Front(#[from] FrontError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Rate(#[from] RateError),
    #[error(transparent)]
    Relation(#[from] RelationError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Runner(#[from] RunnerError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    #[error(transparent)]
    Webhook(#[from] WebhookError),
}

impl ServiceError {
    pub const NOT_FOUND: Self = Self::Denied(AccessDenied::NotFound);

    /// Returns what a caller may know.
    #[must_use]
    pub fn failure(&self) -> Failure {
        match self {
            Self::Access(error) => error.failure(),
            Self::Agent(error) => error.failure(),
            Self::Front(error) => error.failure(),
            Self::Identity(error) => error.failure(),
            Self::Message(error) => error.failure(),
            Self::Rate(error) => error.failure(),
            Self::Relation(error) => error.failure(),
            Self::Run(error) => error.failure(),
            Self::Runner(error) => error.failure(),
            Self::Profile(error) => error.failure(),
            Self::Approval(error) => error.failure(),
            Self::Webhook(error) => error.failure(),
            Self::Denied(denied) => denied_failure(*denied),
            Self::Store(StoreError::Unavailable(_)) => postgres_unavailable(),
            Self::Store(StoreError::Closed) => {
                Failure::new(FailureKind::NotReady, "this server is shutting down; use another replica")
            }
            Self::Store(StoreError::Rejected(_) | StoreError::InvalidUrl | StoreError::Unreadable { .. }) => {
                server_error()
            }
            Self::Overloaded => {
                Failure::new(FailureKind::Overloaded, "too many concurrent requests; try again in a moment")
            }
            Self::Unauthenticated => Failure::new(
                FailureKind::Unauthenticated,
                "no valid token came with the request: sign in at POST /api/v1/auth/login and send `Authorization: Bearer …`",
            ),
            Self::NameTaken(_) => Failure::new(FailureKind::Conflict, format!("{self}: choose another")),
            Self::KeyReused => Failure::new(
                FailureKind::IdempotencyConflict,
                "this Idempotency-Key was used for another request: use a new one for a new request",
            ),
            Self::Invalid(message) => Failure::new(FailureKind::SchemaInvalid, message.clone()),
        }
    }
}

/// Implements `From` for errors that belong to a group's error, so that `?` converts them in one step.
macro_rules! from_group_errors {
    ($($variant:ident: $($error:ty),+;)+) => {
        $($(impl From<$error> for ServiceError {
            fn from(error: $error) -> Self {
                Self::$variant(error.into())
            }
        })+)+
    };
}

from_group_errors! {
    Access: guildhall_domain::access::role::MembershipError, guildhall_domain::access::user::UserError,
        guildhall_domain::access::invitation::InvitationError,
        crate::access::error::SigningError, crate::access::error::OidcError, crate::access::error::ProviderError;
    Agent: guildhall_domain::agents::AgentChangeError, guildhall_domain::agents::settings::InvalidAgentSettings,
        guildhall_domain::agents::automation::AutomationConflict, guildhall_domain::agents::automation::InvalidAutomation;
    Front: crate::front::object_storage::ObjectStorageError, guildhall_domain::front::attachment::InvalidImage,
        guildhall_domain::front::attachment::UnreferencedQuotaExceeded;
    Identity: crate::identity::error::AidLoginError;
    Relation: guildhall_domain::relations::GrantError;
    Run: guildhall_domain::runs::policy::PolicyViolation, guildhall_domain::runs::command::CommandError;
    Runner: guildhall_domain::runs::lease::ClaimError, guildhall_domain::runners::job::JobError,
        guildhall_domain::runs::event::InvalidEvent, guildhall_domain::journal::AppendRejection,
        guildhall_launcher::ProfileUnavailable;
    Profile: guildhall_launcher::secrets::SecretError;
}

fn denied_failure(denied: AccessDenied) -> Failure {
    let kind = match denied {
        AccessDenied::NotFound => FailureKind::NotFound,
        AccessDenied::Forbidden(_) | AccessDenied::ServiceKeyRequired | AccessDenied::UserTokenRequired => {
            FailureKind::Forbidden
        }
    };
    Failure::new(kind, denied.to_string())
}
