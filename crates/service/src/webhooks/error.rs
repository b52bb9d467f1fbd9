//! Why a request about a webhook fails.

use guildhall_domain::webhooks::{InvalidEvents, MAX_ALL_WEBHOOKS};
use guildhall_domain::{Failure, FailureKind};
use guildhall_egress::BlockedAddress;
use guildhall_identity::seal::SealError;

use crate::failures::server_error;

/// An error of a webhook. None can hold a secret or a URL.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("{0}")]
    Events(#[from] InvalidEvents),
    #[error("the URL has a blocked address: {0}")]
    Address(BlockedAddress),
    #[error("the tenant has no such agent")]
    UnknownAgent,
    #[error("there are {0} webhooks already, which is the limit: delete one first")]
    TooMany(usize),
    #[error(
        "the tenant and its agents have {MAX_ALL_WEBHOOKS} webhooks already, which is the limit: delete one first"
    )]
    TooManyOfTenant,
    #[error("the webhook is disabled: enable it first")]
    Disabled,
    #[error("this webhook is no listener: the server sends its events")]
    NoListener,
    #[error("the event was not claimed, or its claim has expired: it is handed out again")]
    NotClaimed,
    #[error("the signing secret: {0}")]
    Seal(SealError),
}

impl WebhookError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Events(error) => Failure::new(FailureKind::SchemaInvalid, format!("events: {error}")),
            Self::Address(blocked) => Failure::new(
                FailureKind::TenantPolicyDenied,
                format!(
                    "url: {blocked} is not allowed; the operator can allow address ranges with egress.allow"
                ),
            ),
            Self::UnknownAgent => Failure::new(FailureKind::SchemaInvalid, format!("agentId: {self}")),
            Self::TooMany(_)
            | Self::TooManyOfTenant
            | Self::Disabled
            | Self::NoListener
            | Self::NotClaimed => Failure::new(FailureKind::Conflict, self.to_string()),
            Self::Seal(_) => server_error(),
        }
    }
}
