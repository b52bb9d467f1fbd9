//! What CopilotKit asks for before it runs an agent.

use std::collections::BTreeMap;

use guildhall_domain::access::role::rights::AgentsRead;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::agents::{Agent, MAX_AGENTS};
use guildhall_domain::front::copilotkit::named_agents;
use guildhall_store::agents;

use crate::ServiceError;
use crate::deps::Deps;

/// Lists agents by their names in CopilotKit.
#[derive(Debug, Clone)]
pub struct CopilotKit {
    deps: Deps,
}

impl CopilotKit {
    pub(super) fn new(deps: Deps) -> Self {
        Self { deps }
    }

    /// Returns the agents of the tenant that take turns and that the caller may use, by name.
    pub async fn agents(
        &self,
        caller: &ThreadOwner<AgentsRead>,
    ) -> Result<BTreeMap<String, Agent>, ServiceError> {
        let mut agents = agents::list(&self.deps.store, caller.tenant(), MAX_AGENTS).await?;
        agents.retain(|agent| caller.check_agent(agent.id).is_ok());
        Ok(named_agents(agents))
    }
}
