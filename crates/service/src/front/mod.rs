//! The front door for applications: threads and turns under the ids of clients.

pub mod agent_runs;
pub mod error;

use crate::deps::Deps;
use crate::runs;

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub agent_runs: agent_runs::AgentRuns,
}

/// Opens the group.
#[must_use]
pub fn open(deps: &Deps, runs: &runs::Group) -> Group {
    Group { agent_runs: agent_runs::AgentRuns::new(deps.clone(), runs.runs.clone(), runs.commands.clone()) }
}
