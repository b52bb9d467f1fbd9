//! Failures of the model provider behind an agent.

use guildhall_domain::FailureKind;

use super::failure::BackendFailure;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProviderError {
    CredentialRejected,
    RateLimited,
    Unavailable,
    IncompleteResponse,
}

impl ProviderError {
    /// Returns the failure of a turn. The message contains the HTTP status but no text of the provider.
    pub(super) fn into_failure(self, status: Option<u64>) -> BackendFailure {
        let kind = match self {
            Self::CredentialRejected => FailureKind::ProviderAuthFailed,
            Self::RateLimited | Self::Unavailable | Self::IncompleteResponse => {
                FailureKind::ProviderUnavailable
            }
        };
        let message = match self {
            Self::CredentialRejected => "the model provider rejected the credential",
            Self::RateLimited => "the model provider limits the request rate",
            Self::Unavailable => "the model provider is unavailable",
            Self::IncompleteResponse => "the model provider's response was incomplete",
        };
        BackendFailure::new(kind, with_status(message, status))
    }
}

/// Appends an HTTP status to a message.
pub(super) fn with_status(message: &str, status: Option<u64>) -> String {
    status.map_or(message.to_owned(), |status| format!("{message} ({status})"))
}
