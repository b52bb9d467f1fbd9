//! Names of agents in CopilotKit.

use std::collections::BTreeMap;

use crate::access::principal::InvalidSlug;
use crate::agents::{Agent, AgentKey};

/// The name that CopilotKit uses if an application names no agent. Here it is the default agent of the tenant.
pub const DEFAULT_AGENT: &str = "default";

/// Returns the agents that take turns, by the names that applications use: slugs, and `default`.
#[must_use]
pub fn named_agents(agents: Vec<Agent>) -> BTreeMap<String, Agent> {
    let mut named = BTreeMap::new();
    for agent in agents.into_iter().filter(|agent| agent.enabled) {
        if agent.is_default {
            named.insert(DEFAULT_AGENT.to_owned(), agent.clone());
        }
        if agent.slug != DEFAULT_AGENT {
            named.insert(agent.slug.clone(), agent);
        }
    }
    named
}

/// Returns the agent that a name stands for; none is the default agent of the tenant.
pub fn agent_of(name: &str) -> Result<Option<AgentKey>, InvalidSlug> {
    if name == DEFAULT_AGENT { Ok(None) } else { name.parse().map(Some) }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::agents::settings::test_settings::settings;
    use crate::ids::{AgentId, TenantId};

    fn agent(slug: &str, enabled: bool, is_default: bool) -> Agent {
        Agent {
            id: AgentId::generate(),
            tenant: TenantId::generate(),
            slug: slug.to_owned(),
            name: slug.to_uppercase(),
            enabled,
            is_default,
            revision: 1,
            settings: settings(),
            manifest: None,
            published: false,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn names(agents: &[Agent]) -> Vec<(String, String)> {
        named_agents(agents.to_vec()).into_iter().map(|(name, agent)| (name, agent.name)).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(name, agent)| ((*name).to_owned(), (*agent).to_owned())).collect()
    }

    #[test]
    fn default_is_the_default_agent_and_no_other() {
        let (helper, writer) = (agent("helper", true, true), agent("writer", true, false));
        let listed = names(&[helper.clone(), agent("off", false, false), writer.clone()]);
        assert_eq!(listed, pairs(&[("default", "HELPER"), ("helper", "HELPER"), ("writer", "WRITER")]));
        let other = agent("default", true, false);
        assert_eq!(names(&[other.clone(), writer]), pairs(&[("writer", "WRITER")]));
        assert_eq!(names(&[other, helper]), pairs(&[("default", "HELPER"), ("helper", "HELPER")]));
    }

    #[test]
    fn listed_names_stand_for_their_agents() {
        assert_eq!(agent_of("default"), Ok(None));
        assert_eq!(agent_of("helper"), "helper".parse().map(Some));
        let id = AgentId::generate();
        assert_eq!(agent_of(&id.to_string()), Ok(Some(AgentKey::Id(id))));
        assert!(agent_of("Not A Slug").is_err());
    }
}
