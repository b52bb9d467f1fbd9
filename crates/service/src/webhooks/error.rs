//! Why a request about a webhook fails.

use guildhall_domain::webhooks::{InvalidEvents, MAX_WEBHOOKS};
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
    #[error("the tenant has {MAX_WEBHOOKS} webhooks already, which is the limit: delete one first")]
    TooMany,
    #[error("the webhook is disabled, because its receiver answered 410: delete it and create it again")]
    Disabled,
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
            Self::TooMany | Self::Disabled => Failure::new(FailureKind::Conflict, self.to_string()),
            Self::Seal(_) => server_error(),
        }
    }
}
