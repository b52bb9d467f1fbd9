//! What can go wrong in a use case.

use guildhall_domain::{Failure, FailureKind};
use guildhall_store::StoreError;

/// A failure with its internal cause. Callers see the failure; the log sees the cause.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("the store failed")]
    Store(#[from] StoreError),
}

impl ServiceError {
    /// Returns what a caller may know.
    #[must_use]
    pub fn failure(&self) -> Failure {
        match self {
            Self::Store(StoreError::Unavailable(_)) => Failure::new(
                FailureKind::InfraFailed,
                "PostgreSQL does not answer; nothing was done, try again in a few seconds",
            ),
            Self::Store(StoreError::Closed) => {
                Failure::new(FailureKind::NotReady, "this server is shutting down; ask another replica")
            }
            Self::Store(StoreError::Refused(_) | StoreError::Address) => Failure::new(
                FailureKind::Internal,
                "the server could not do this; its log says why under the trace id",
            ),
        }
    }
}
