//! Why a request of an application fails.

use guildhall_domain::{Failure, FailureKind};

#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    #[error(
        "the tenant has no default agent: name one with agentId, or set one with `guildhall agents update AGENT --default`"
    )]
    NoDefaultAgent,
    #[error("the agent `{0}` is disabled: it takes no new turns")]
    AgentDisabled(String),
    #[error("the runs of this thread end as fast as they are created: try again")]
    NoOpenRun,
}

impl FrontError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        let kind = match self {
            Self::NoDefaultAgent | Self::AgentDisabled(_) | Self::NoOpenRun => FailureKind::Conflict,
        };
        Failure::new(kind, self.to_string())
    }
}
