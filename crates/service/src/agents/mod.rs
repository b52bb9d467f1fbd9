//! Agents: principals of a tenant that people talk to.

pub mod aids;
pub mod automations;
pub mod error;
pub mod manifests;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::role::rights::{AgentsManage, AgentsRead};
use guildhall_domain::agents::end_users::EndUserSettings;
use guildhall_domain::agents::manifest::DeclaredManifest;
use guildhall_domain::agents::manifest::version::ManifestPin;
use guildhall_domain::agents::pipeline::Pipeline;
use guildhall_domain::agents::settings::AgentSettings;
use guildhall_domain::agents::{Agent, AgentChange, MAX_AGENTS};
use guildhall_domain::ids::{AgentId, PrincipalId, TenantId};
use guildhall_domain::runs::policy::{Approval, PolicyRequest, WorkspaceRef};
use guildhall_store::agents::{self as rows, NewAgent};
use guildhall_store::{Store, Tx, relation_checks};
use serde_json::{Value, json};

use self::error::AgentError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::deps::Deps;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub agents: Agents,
    pub aids: aids::AgentAids,
    pub automations: automations::Automations,
    pub manifests: manifests::Manifests,
}

/// Opens the group.
#[must_use]
pub fn open(deps: &Deps) -> Group {
    let automations = automations::Automations::new(deps.clone());
    let manifests = manifests::Manifests::new(deps.store.clone());
    let aids = aids::AgentAids::new(deps.store.clone());
    Group { agents: Agents { deps: deps.clone() }, aids, automations, manifests }
}

/// An agent to create.
#[derive(Debug, Clone)]
pub struct CreateAgent {
    pub slug: Slug,
    pub name: String,
    pub is_default: bool,
    pub settings: AgentSettings,
    pub manifest: Option<DeclaredManifest>,
}

/// Creates the demo agent of the first tenant, as its default. Its audit entry has no actor.
pub async fn create_demo(
    store: &Store,
    tenant: TenantId,
    owner: PrincipalId,
) -> Result<AgentId, ServiceError> {
    let (id, demo) = (AgentId::generate(), demo()?);
    let mut tx = store.begin().await?;
    insert(&mut tx, id, tenant, owner, &demo).await?;
    let (action, actor) = ("agent.created", None);
    let (log, object, detail) = (AuditLog::Tenant(tenant), id.to_string(), created_detail(&demo));
    audit::record(&mut tx, &AuditEvent { log, action, actor, object, detail }).await?;
    tx.commit().await?;
    Ok(id)
}

/// Returns an agent that needs no model.
fn demo() -> Result<CreateAgent, ServiceError> {
    let invalid = |name: &str| ServiceError::Invalid(format!("the demo agent: {name}"));
    Ok(CreateAgent {
        slug: "demo".parse().map_err(|_| invalid("slug"))?,
        name: "Demo".to_owned(),
        is_default: true,
        settings: AgentSettings {
            description: "Repeats what you say. It needs no model.".to_owned(),
            instructions: None,
            project: "default".parse().map_err(|_| invalid("project"))?,
            provider: "local".parse().map_err(|_| invalid("provider"))?,
            profile: "demo".parse().map_err(|_| invalid("profile"))?,
            workspace: WorkspaceRef::Empty,
            // So that an application can try how questions are answered.
            policy: PolicyRequest { approval: Some(Approval::OnRequest), ..PolicyRequest::default() },
            pipeline: Pipeline::default(),
            end_users: EndUserSettings::default(),
        },
        manifest: None,
    })
}

/// Inserts an agent.
async fn insert(
    tx: &mut Tx,
    id: AgentId,
    tenant: TenantId,
    created_by: PrincipalId,
    request: &CreateAgent,
) -> Result<(), ServiceError> {
    let CreateAgent { slug, name, is_default, settings, manifest } = request;
    if rows::lock_tenant(tx, tenant).await? >= MAX_AGENTS {
        return Err(AgentError::TooMany.into());
    }
    let manifest_version = first_version(request).map(|pin| pin.version);
    let new =
        NewAgent { id, tenant, slug, name, is_default: *is_default, settings, manifest_version, created_by };
    if !rows::insert(tx, &new).await? {
        return Err(ServiceError::NameTaken(slug.as_str().to_owned()));
    }
    match manifest {
        Some(manifest) => manifests::insert(tx, id, None, manifest, created_by).await.map(drop),
        None => Ok(()),
    }
}

/// Returns the version of the manifest that an agent is created with.
fn first_version(request: &CreateAgent) -> Option<ManifestPin> {
    request.manifest.as_ref().map(|manifest| ManifestPin::declare(None, manifest.document.hash()))
}

/// Returns the version that relations have to be compared with: a new one, or one that users of other tenants see now.
fn version_to_check(agent: &Agent, changed: &Agent) -> Option<i64> {
    let is_other = changed.manifest != agent.manifest || (changed.published && !agent.published);
    changed.manifest.filter(|_| is_other).map(|pin| pin.version)
}

fn changed_detail(changed: &Agent) -> Value {
    let mut detail = json!({
        "name": changed.name, "enabled": changed.enabled, "default": changed.is_default,
        "revision": changed.revision, "settings": changed.settings,
    });
    if let Some(pin) = changed.manifest {
        detail["manifest"] = manifests::detail(pin);
        detail["published"] = json!(changed.published);
    }
    detail
}

fn created_detail(request: &CreateAgent) -> Value {
    let CreateAgent { slug, name, is_default, settings, .. } = request;
    let mut detail =
        json!({ "slug": slug.as_str(), "name": name, "default": is_default, "settings": settings });
    if let Some(pin) = first_version(request) {
        detail["manifest"] = manifests::detail(pin);
    }
    detail
}

/// Creates, reads and changes agents.
#[derive(Debug, Clone)]
pub struct Agents {
    deps: Deps,
}

impl Agents {
    /// Creates an agent. Its runs must be within the bounds of the tenant. Only a person declares a manifest.
    pub async fn create(
        &self,
        caller: &Authorized<AgentsManage>,
        request: &CreateAgent,
        key: Option<&IdempotencyKey>,
    ) -> Result<Agent, ServiceError> {
        let tenant = caller.tenant();
        if request.manifest.is_some() {
            caller.person()?;
        }
        self.check_settings(tenant, &request.settings).await?;
        let (id, mut tx) = (AgentId::generate(), self.deps.store.begin().await?);
        let body = json!(["agent", tenant, created_detail(request)]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            tx.rollback().await?;
            return self.find(AgentId::from_uuid(created)).await;
        }
        insert(&mut tx, id, tenant, caller.principal, request).await?;
        let detail = created_detail(request);
        audit::record(&mut tx, &AuditEvent::by_member(caller, "agent.created", id.to_string(), detail))
            .await?;
        tx.commit().await?;
        self.find(id).await
    }

    pub async fn list(&self, caller: &Authorized<AgentsRead>) -> Result<Vec<Agent>, ServiceError> {
        Ok(rows::list(&self.deps.store, caller.tenant(), MAX_AGENTS).await?)
    }

    pub async fn get(&self, caller: &Authorized<AgentsRead>, id: AgentId) -> Result<Agent, ServiceError> {
        Ok(caller.load(rows::find(&self.deps.store, id).await?)?)
    }

    /// Changes an agent: a person does, never a program. Runs that exist keep the settings that they were created with. A
    /// manifest of a published agent is in the transparency log when this returns.
    pub async fn update(
        &self,
        caller: &Authorized<AgentsManage>,
        id: AgentId,
        change: AgentChange,
    ) -> Result<Agent, ServiceError> {
        let author = caller.person()?;
        let mut tx = self.deps.store.begin().await?;
        rows::lock_tenant(&mut tx, caller.tenant()).await?;
        let agent = caller.load(rows::load(&mut tx, id).await?)?;
        let changed = change.apply(&agent)?;
        if changed == agent {
            tx.rollback().await?;
            return Ok(agent);
        }
        if changed.revision != agent.revision {
            self.check_settings(caller.tenant(), &changed.settings).await?;
        }
        if changed.manifest != agent.manifest
            && let Some(manifest) = &change.manifest
        {
            let gap = manifests::insert(&mut tx, id, agent.manifest, manifest, author).await?;
            if let (Some(gap), Some(new)) = (gap, changed.manifest) {
                manifests::tell_observers(&mut tx, id, new, &gap, self.deps.clock.now()).await?;
            }
        }
        rows::update(&mut tx, &agent, &changed, author).await?;
        if let Some(version) = version_to_check(&agent, &changed) {
            relation_checks::start(&mut tx, id, version).await?;
        }
        // Before the audit entry, as where certificates are issued: all take these locks in one order.
        manifests::log(&mut tx, &changed, self.deps.clock.now()).await?;
        let detail = changed_detail(&changed);
        audit::record(&mut tx, &AuditEvent::by_member(caller, "agent.changed", id.to_string(), detail))
            .await?;
        tx.commit().await?;
        self.find(id).await
    }

    /// Returns the tenant of an agent, for the edge to load the caller's role in it.
    pub async fn tenant_of(&self, id: AgentId) -> Result<Option<TenantId>, ServiceError> {
        Ok(rows::find_tenant(&self.deps.store, id).await?)
    }

    async fn check_settings(&self, tenant: TenantId, settings: &AgentSettings) -> Result<(), ServiceError> {
        settings.validate()?;
        self.deps.tenant_bounds(tenant).await?.admit(&settings.run_request())?;
        Ok(())
    }

    async fn find(&self, id: AgentId) -> Result<Agent, ServiceError> {
        rows::find(&self.deps.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }
}
