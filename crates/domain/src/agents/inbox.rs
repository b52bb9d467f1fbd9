//! Inboxes of agents that the server answers for.

use crate::identity::Aid;
use crate::messages::WorkSenders;

/// The inbox of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInbox {
    pub aid: Aid,
    pub senders: WorkSenders,
}
