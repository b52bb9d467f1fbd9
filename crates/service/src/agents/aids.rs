//! AIDs of agents that run elsewhere, with a key of their own.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{AgentsManage, AgentsRead};
use guildhall_domain::agents::aid::AgentAid;
use guildhall_domain::identity::Aid;
use guildhall_domain::ids::AgentId;
use guildhall_store::{Store, agent_aids as rows, agent_webhooks, agents};
use serde_json::json;

use super::error::AgentError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};

/// Reads and sets the AIDs of agents.
#[derive(Debug, Clone)]
pub struct AgentAids {
    store: Store,
}

impl AgentAids {
    pub(super) const fn new(store: Store) -> Self {
        Self { store }
    }

    /// Returns the AID of an agent, also of one that the server answers for.
    pub async fn get(
        &self,
        caller: &Authorized<AgentsRead>,
        agent: AgentId,
    ) -> Result<AgentAid, ServiceError> {
        caller.load(agents::find(&self.store, agent).await?)?;
        Ok(rows::find(&self.store, agent).await?.ok_or(AgentError::NoAid)?)
    }

    /// Sets the AID with which an agent speaks. Its owner does: webhooks of the agent are told about its messages.
    pub async fn set(
        &self,
        caller: &Authorized<AgentsManage>,
        agent: AgentId,
        aid: &Aid,
    ) -> Result<AgentAid, ServiceError> {
        let author = caller.person()?;
        let mut tx = self.store.begin().await?;
        agents::lock_tenant(&mut tx, caller.tenant()).await?;
        caller.load(agents::load(&mut tx, agent).await?)?;
        // One that does not exist is not theirs either.
        if rows::find_owner(&mut tx, aid, caller.tenant()).await? != Some(author) {
            return Err(AgentError::ForeignAid(aid.clone()).into());
        }
        let wanted = AgentAid { aid: aid.clone(), is_hosted: false };
        if rows::find_own(&mut tx, agent).await?.as_ref() == Some(aid) {
            tx.rollback().await?;
            return Ok(wanted);
        }
        if !rows::set(&mut tx, agent, aid, author).await? {
            return Err(AgentError::AidInUse(aid.clone()).into());
        }
        agent_webhooks::clear_inbox(&mut tx, agent).await?;
        let detail = json!({ "aid": aid.to_string() });
        let event = AuditEvent::by_member(caller, "agent.aid-set", agent.to_string(), detail);
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(wanted)
    }

    /// Takes the AID from an agent that runs elsewhere. That of one that the server answers for stays.
    pub async fn delete(
        &self,
        caller: &Authorized<AgentsManage>,
        agent: AgentId,
    ) -> Result<(), ServiceError> {
        caller.person()?;
        let mut tx = self.store.begin().await?;
        agents::lock_tenant(&mut tx, caller.tenant()).await?;
        caller.load(agents::load(&mut tx, agent).await?)?;
        let aid = rows::delete(&mut tx, agent).await?.ok_or(AgentError::NoAid)?;
        agent_webhooks::clear_inbox(&mut tx, agent).await?;
        let detail = json!({ "aid": aid.to_string() });
        let event = AuditEvent::by_member(caller, "agent.aid-removed", agent.to_string(), detail);
        audit::record(&mut tx, &event).await?;
        Ok(tx.commit().await?)
    }
}
