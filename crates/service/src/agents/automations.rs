//! Automations: stored messages to agents.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::role::rights::{AgentsManage, AgentsRead};
use guildhall_domain::agents::automation::{
    Automation, AutomationChange, AutomationSettings, MAX_AUTOMATIONS,
};
use guildhall_domain::agents::{AgentKey, IdOrSlug};
use guildhall_domain::ids::{AgentId, AutomationId, TenantId};
use guildhall_store::agents;
use guildhall_store::automations::{self as rows, NewAutomation};
use serde_json::json;

use super::error::AgentError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::deps::Deps;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// An automation to create.
#[derive(Debug, Clone)]
pub struct CreateAutomation {
    pub agent: AgentKey,
    pub slug: Slug,
    pub name: String,
    pub settings: AutomationSettings,
}

/// Creates, reads and changes automations.
#[derive(Debug, Clone)]
pub struct Automations {
    deps: Deps,
}

impl Automations {
    pub(super) fn new(deps: Deps) -> Self {
        Self { deps }
    }

    pub async fn create(
        &self,
        caller: &Authorized<AgentsManage>,
        request: &CreateAutomation,
        key: Option<&IdempotencyKey>,
    ) -> Result<Automation, ServiceError> {
        let CreateAutomation { slug, name, settings, .. } = request;
        settings.validate()?;
        let (tenant, agent) = (caller.tenant(), self.find_agent(caller.tenant(), &request.agent).await?);
        let (id, mut tx) = (AutomationId::generate(), self.deps.store.begin().await?);
        let detail = json!({ "agentId": agent.to_string(), "slug": slug.as_str(), "name": name, "settings": settings });
        let body = json!(["automation", tenant, detail]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            tx.rollback().await?;
            return self.find(AutomationId::from_uuid(created)).await;
        }
        if rows::lock_tenant(&mut tx, tenant).await? >= MAX_AUTOMATIONS {
            return Err(AgentError::TooManyAutomations.into());
        }
        let new = NewAutomation { id, tenant, agent, slug, name, settings, created_by: caller.principal };
        if !rows::insert(&mut tx, &new).await? {
            return Err(ServiceError::NameTaken(slug.as_str().to_owned()));
        }
        audit::record(&mut tx, &AuditEvent::by_member(caller, "automation.created", id.to_string(), detail))
            .await?;
        tx.commit().await?;
        self.find(id).await
    }

    pub async fn list(&self, caller: &Authorized<AgentsRead>) -> Result<Vec<Automation>, ServiceError> {
        Ok(rows::list(&self.deps.store, caller.tenant(), MAX_AUTOMATIONS).await?)
    }

    pub async fn get(
        &self,
        caller: &Authorized<AgentsRead>,
        id: AutomationId,
    ) -> Result<Automation, ServiceError> {
        Ok(caller.load(rows::find(&self.deps.store, id).await?)?)
    }

    /// Changes an automation. Turns that were started keep what they were started with.
    pub async fn update(
        &self,
        caller: &Authorized<AgentsManage>,
        id: AutomationId,
        change: AutomationChange,
    ) -> Result<Automation, ServiceError> {
        let mut tx = self.deps.store.begin().await?;
        rows::lock_tenant(&mut tx, caller.tenant()).await?;
        let automation = caller.load(rows::load(&mut tx, id).await?)?;
        let changed = change.apply(&automation)?;
        if changed == automation {
            tx.rollback().await?;
            return Ok(automation);
        }
        changed.settings.validate()?;
        rows::update(&mut tx, &changed).await?;
        let detail = json!({
            "name": changed.name, "enabled": changed.enabled, "revision": changed.revision,
            "settings": changed.settings,
        });
        audit::record(&mut tx, &AuditEvent::by_member(caller, "automation.changed", id.to_string(), detail))
            .await?;
        tx.commit().await?;
        self.find(id).await
    }

    /// Returns the tenant of an automation, for the edge to load the caller's role in it.
    pub async fn tenant_of(&self, id: AutomationId) -> Result<Option<TenantId>, ServiceError> {
        Ok(rows::find_tenant(&self.deps.store, id).await?)
    }

    /// Returns an agent of a tenant.
    async fn find_agent(&self, tenant: TenantId, key: &AgentKey) -> Result<AgentId, ServiceError> {
        let store = &self.deps.store;
        let found = match key {
            IdOrSlug::Id(id) => {
                let owner = agents::find_tenant(store, *id).await?;
                owner.filter(|owner| *owner == tenant).map(|_| *id)
            }
            IdOrSlug::Slug(slug) => agents::find_id_by_slug(store, tenant, slug).await?,
        };
        found.ok_or(ServiceError::NOT_FOUND)
    }

    async fn find(&self, id: AutomationId) -> Result<Automation, ServiceError> {
        rows::find(&self.deps.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }
}
