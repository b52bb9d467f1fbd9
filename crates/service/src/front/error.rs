//! Why a request of an application fails.

use guildhall_domain::front::interrupt_answer::InvalidInterruptAnswer;
use guildhall_domain::ids::ApprovalId;
use guildhall_domain::{Failure, FailureKind};

#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    #[error(
        "the tenant has no default agent: name one with agentId, or set one with `guildhall agents update AGENT --default`"
    )]
    NoDefaultAgent,
    #[error("the agent `{0}` is disabled: it takes no new turns")]
    AgentDisabled(String),
    #[error("the automation `{0}` is disabled: it starts no runs")]
    AutomationDisabled(String),
    #[error("agentId: the automation is for another agent: leave it out")]
    OtherAgent,
    #[error("the turn has no message")]
    NoMessage,
    #[error("the runs of this thread end as fast as they are created: try again")]
    NoOpenRun,
    #[error("resume: the thread has no interrupt `{0}`")]
    UnknownInterrupt(ApprovalId),
    #[error("resume: `{0}`: {1}")]
    InterruptAnswer(ApprovalId, InvalidInterruptAnswer),
    #[error("resume: answer the interrupts of one run at a time")]
    SeveralTurns,
    #[error("resume: the agent continues when all interrupts of its turn are answered")]
    OpenInterrupts,
    #[error("resume: the run has ended: follow the thread to see how")]
    RunEnded,
}

impl FrontError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        let kind = match self {
            Self::NoDefaultAgent
            | Self::AgentDisabled(_)
            | Self::AutomationDisabled(_)
            | Self::NoOpenRun
            | Self::OpenInterrupts
            | Self::RunEnded => FailureKind::Conflict,
            Self::UnknownInterrupt(_)
            | Self::InterruptAnswer(..)
            | Self::SeveralTurns
            | Self::OtherAgent
            | Self::NoMessage => FailureKind::InvalidInput,
        };
        Failure::new(kind, self.to_string())
    }
}
