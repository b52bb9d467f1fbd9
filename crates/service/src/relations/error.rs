//! Why a request about a relation fails.

use guildhall_domain::relations::{GrantError, MAX_RELATIONS};
use guildhall_domain::{Failure, FailureKind};

#[derive(Debug, thiserror::Error)]
pub enum RelationError {
    #[error(transparent)]
    Grant(#[from] GrantError),
    #[error("the agent is not published any more: you can only end the relation")]
    AgentHidden,
    #[error("you have {MAX_RELATIONS} relations already, which is the limit: end one that is not used")]
    TooMany,
}

impl RelationError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        let kind = match self {
            Self::Grant(GrantError::UndeclaredScope { .. }) => FailureKind::SchemaInvalid,
            Self::Grant(
                GrantError::NoManifest
                | GrantError::OtherManifest { .. }
                | GrantError::Exists { .. }
                | GrantError::Ended,
            )
            | Self::AgentHidden
            | Self::TooMany => FailureKind::Conflict,
        };
        Failure::new(kind, self.to_string())
    }
}
