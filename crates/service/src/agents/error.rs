//! Why a request about an agent fails.

use guildhall_domain::agents::automation::{AutomationConflict, InvalidAutomation, MAX_AUTOMATIONS};
use guildhall_domain::agents::settings::InvalidAgentSettings;
use guildhall_domain::agents::{AgentChangeError, MAX_AGENTS};
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
            | Self::TooManyAutomations => FailureKind::Conflict,
            Self::Settings(_) | Self::Automation(_) => FailureKind::SchemaInvalid,
        };
        Failure::new(kind, self.to_string())
    }
}
