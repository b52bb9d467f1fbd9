//! Why a request about an agent fails.

use guildhall_domain::agents::automation::{AutomationConflict, InvalidAutomation, MAX_AUTOMATIONS};
use guildhall_domain::agents::settings::InvalidAgentSettings;
use guildhall_domain::agents::{AgentChangeError, MAX_AGENTS};
use guildhall_domain::identity::Aid;
use guildhall_domain::{Failure, FailureKind};

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    Change(#[from] AgentChangeError),
    #[error(transparent)]
    Settings(#[from] InvalidAgentSettings),
    #[error("the tenant has {MAX_AGENTS} agents already, which is the limit: change one that is not used")]
    TooMany,
    #[error(transparent)]
    AutomationChange(#[from] AutomationConflict),
    #[error(transparent)]
    Automation(#[from] InvalidAutomation),
    #[error(
        "the tenant has {MAX_AUTOMATIONS} automations already, which is the limit: change one that is not used"
    )]
    TooManyAutomations,
    #[error("the agent has no AID: set one, or give it an inbox")]
    NoAid,
    #[error("{0} is not your AID: only its owner can make it the AID of an agent")]
    ForeignAid(Aid),
    #[error("{0} is the AID of another agent, or the server answers for this agent with its own AID")]
    AidInUse(Aid),
}

impl AgentError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        let kind = match self {
            Self::Change(
                AgentChangeError::RevisionConflict { .. }
                | AgentChangeError::DefaultDisabled
                | AgentChangeError::ManifestConflict { .. }
                | AgentChangeError::NothingToPublish,
            )
            | Self::TooMany
            | Self::AutomationChange(_)
            | Self::TooManyAutomations
            | Self::AidInUse(_) => FailureKind::Conflict,
            Self::ForeignAid(_) => FailureKind::Forbidden,
            Self::NoAid => FailureKind::NotFound,
            Self::Settings(_) | Self::Automation(_) => FailureKind::SchemaInvalid,
        };
        Failure::new(kind, self.to_string())
    }
}
