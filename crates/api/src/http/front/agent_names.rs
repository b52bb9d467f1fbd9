//! The agent of a run, as the request names it.

use guildhall_domain::agents::{AgentKey, AutomationKey};

/// The agent and the automation that a request names.
#[derive(Debug, Clone, Copy)]
pub(super) struct AgentNames<'a> {
    pub(super) agent: Option<&'a AgentKey>,
    pub(super) automation: Option<&'a AutomationKey>,
}
