//! Why a request about a relation fails.

use std::time::Duration;

use guildhall_domain::relations::{GrantError, MAX_DAILY_CONSENTS, MAX_RELATIONS};
use guildhall_domain::{Failure, FailureKind};

#[derive(Debug, thiserror::Error)]
pub enum RelationError {
    #[error(transparent)]
    Grant(#[from] GrantError),
    #[error("the agent is not published any more: you can only end the relation")]
    AgentHidden,
    #[error("you have {MAX_RELATIONS} relations already, which is the limit: end one that is not used")]
    TooMany,
    #[error(
        "you have changed what you grant to this agent {MAX_DAILY_CONSENTS} times within a day, which is the limit"
    )]
    TooManyToday { wait: Duration },
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
            Self::TooManyToday { wait } => {
                return Failure::new(FailureKind::RateLimited, self.to_string()).with_retry_after(*wait);
            }
        };
        Failure::new(kind, self.to_string())
    }
}
