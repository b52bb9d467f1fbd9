//! AIDs of agents.

use crate::identity::Aid;

/// The AID of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAid {
    pub aid: Aid,
    /// Whether the server holds its key and answers for it.
    pub is_hosted: bool,
}
