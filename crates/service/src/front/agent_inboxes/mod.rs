//! Agents that answer messages: their AIDs, and the work that messages start.

mod answers;
mod progress;
mod questions;
mod reconcile;
mod renewal;
mod sealing;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{AgentsManage, AgentsRead};
use guildhall_domain::agents::Agent;
use guildhall_domain::agents::inbox::AgentInbox;
use guildhall_domain::identity::{AidName, ClientSlot};
use guildhall_domain::ids::{AgentId, PrincipalId};
use guildhall_domain::messages::WorkSenders;
use guildhall_identity::pki::{Curve, EcKey};
use guildhall_store::agent_inboxes::{self, NewAgentInbox};
use guildhall_store::{Tx, agent_aids, agents};
use serde_json::json;

pub use reconcile::AnswerMessages;

use super::error::FrontError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::deps::Deps;
use crate::identity;

/// An inbox to set up.
#[derive(Debug, Clone)]
pub struct AgentInboxRequest {
    /// The name of the agent's AID; its slug if none is named. It cannot be changed later.
    pub name: Option<AidName>,
    pub senders: WorkSenders,
}

/// Sets up the inboxes of agents. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AgentInboxes {
    deps: Deps,
    identity: identity::Group,
}

impl AgentInboxes {
    pub(super) const fn new(deps: Deps, identity: identity::Group) -> Self {
        Self { deps, identity }
    }

    pub async fn get(
        &self,
        caller: &Authorized<AgentsRead>,
        agent: AgentId,
    ) -> Result<AgentInbox, ServiceError> {
        caller.load(agents::find(&self.deps.store, agent).await?)?;
        Ok(agent_inboxes::find(&self.deps.store, agent).await?.ok_or(FrontError::NoInbox)?)
    }

    /// Gives an agent an AID and an inbox, or changes whose messages start its work.
    pub async fn put(
        &self,
        caller: &Authorized<AgentsManage>,
        agent: AgentId,
        request: &AgentInboxRequest,
    ) -> Result<AgentInbox, ServiceError> {
        let agent = caller.load(agents::find(&self.deps.store, agent).await?)?;
        match agent_inboxes::find(&self.deps.store, agent.id).await? {
            Some(found) if request.name.as_ref().is_some_and(|name| name != found.aid.name()) => {
                Err(FrontError::OtherAid(found.aid.to_string()).into())
            }
            Some(found) if found.senders == request.senders => Ok(found),
            Some(_) => self.set_senders(caller, &agent, request.senders).await,
            None => self.create(Some(caller.principal), &agent, request).await,
        }
    }

    async fn set_senders(
        &self,
        caller: &Authorized<AgentsManage>,
        agent: &Agent,
        senders: WorkSenders,
    ) -> Result<AgentInbox, ServiceError> {
        let mut tx = self.deps.store.begin().await?;
        let changed = agent_inboxes::set_senders(&mut tx, agent.id, senders).await?;
        let changed = changed.ok_or(FrontError::NoInbox)?;
        record(&mut tx, Some(caller.principal), "agent.inbox-changed", agent, &changed).await?;
        tx.commit().await?;
        Ok(changed)
    }

    /// Gives the demo agent of a new installation an inbox, if this server is an issuer. Its audit entry has no actor.
    pub async fn create_first(&self, agent: AgentId) -> Result<(), ServiceError> {
        if self.identity.aids().is_err() {
            return Ok(());
        }
        let agent = agents::find(&self.deps.store, agent).await?.ok_or(ServiceError::NOT_FOUND)?;
        let request = AgentInboxRequest { name: None, senders: WorkSenders::Members };
        self.create(None, &agent, &request).await.map(drop)
    }

    async fn create(
        &self,
        actor: Option<PrincipalId>,
        agent: &Agent,
        request: &AgentInboxRequest,
    ) -> Result<AgentInbox, ServiceError> {
        let aids = self.identity.aids()?;
        let name = match &request.name {
            Some(name) => name.clone(),
            None => agent.slug.as_str().parse().map_err(|_| FrontError::SlugIsNoName)?,
        };
        let key = EcKey::generate(Curve::P256).map_err(|_| FrontError::AgentKey)?;
        let mut tx = self.deps.store.begin().await?;
        // An agent has one AID: nobody sets that of an agent with its own key meanwhile.
        agents::lock_tenant(&mut tx, agent.tenant).await?;
        if agent_aids::find_own(&mut tx, agent.id).await?.is_some() {
            return Err(FrontError::OwnAid.into());
        }
        let aid = aids.insert_hosted(&mut tx, name, agent.id, &key, actor).await?;
        let new = NewAgentInbox { agent: agent.id, aid: &aid, senders: request.senders };
        if !agent_inboxes::insert(&mut tx, &new).await? {
            // Another request was faster: what it has created is found by the next one.
            return Err(ServiceError::Overloaded);
        }
        let created = AgentInbox { aid, senders: request.senders };
        record(&mut tx, actor, "agent.inbox-created", agent, &created).await?;
        // Before the commit, and while the tenant is locked: an agent with an inbox has its key, and a key has one writer.
        self.identity.agent_keys()?.put(agent.id, key).await?;
        tx.commit().await?;
        Ok(created)
    }
}

/// The instance with which the server reads the inboxes of agents.
fn instance() -> ClientSlot {
    ClientSlot::new("guildhall", "agent").unwrap_or_default()
}

async fn record(
    tx: &mut Tx,
    actor: Option<PrincipalId>,
    action: &'static str,
    agent: &Agent,
    inbox: &AgentInbox,
) -> Result<(), ServiceError> {
    let (log, object) = (AuditLog::Tenant(agent.tenant), agent.id.to_string());
    let detail = json!({ "aid": inbox.aid.to_string(), "senders": inbox.senders });
    audit::record(tx, &AuditEvent { log, action, actor, object, detail }).await
}
