//! Projects of a tenant.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::project_setup::ProjectSetup;
use guildhall_domain::access::role::rights::{ProjectsManage, ProjectsRead};
use guildhall_domain::access::tenant::{Project, ProjectKey};
use guildhall_domain::ids::{ProjectId, TenantId};
use guildhall_store::{Store, projects};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::idempotency::{self, Claim, IdempotencyKey};

/// Projects in one list.
const MAX_PROJECTS: u32 = 1000;

/// Creates, reads and changes projects.
#[derive(Debug, Clone)]
pub struct Projects {
    store: Store,
}

impl Projects {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    pub async fn create(
        &self,
        caller: &Authorized<ProjectsManage>,
        slug: &Slug,
        name: &str,
        key: Option<&IdempotencyKey>,
    ) -> Result<Project, ServiceError> {
        let tenant = caller.tenant();
        let mut tx = self.store.begin().await?;
        let id = ProjectId::generate();
        let body = json!(["project", tenant, slug.as_str(), name]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            let found = projects::find(&self.store, tenant, ProjectId::from_uuid(created)).await?;
            return found.ok_or(ServiceError::NOT_FOUND);
        }
        let created = projects::insert(&mut tx, tenant, id, slug, name).await?;
        let project = created.ok_or_else(|| ServiceError::NameTaken(slug.as_str().to_owned()))?;
        let detail = json!({ "slug": slug.as_str(), "name": name });
        audit::record(&mut tx, &AuditEvent::by_member(caller, "project.created", id.to_string(), detail))
            .await?;
        tx.commit().await?;
        Ok(project)
    }

    pub async fn list(&self, caller: &Authorized<ProjectsRead>) -> Result<Vec<Project>, ServiceError> {
        Ok(projects::list(&self.store, caller.tenant(), MAX_PROJECTS).await?)
    }

    pub async fn get(
        &self,
        caller: &Authorized<ProjectsRead>,
        key: &ProjectKey,
    ) -> Result<Project, ServiceError> {
        let id = self.resolve(caller.tenant(), key).await?;
        projects::find(&self.store, caller.tenant(), id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Sets or clears the setup of a project, for claims from now on. Repeating it changes nothing.
    pub async fn set_setup(
        &self,
        caller: &Authorized<ProjectsManage>,
        key: &ProjectKey,
        setup: Option<ProjectSetup>,
    ) -> Result<Project, ServiceError> {
        let tenant = caller.tenant();
        let id = self.resolve(tenant, key).await?;
        let mut tx = self.store.begin().await?;
        let Some(project) = projects::set_setup(&mut tx, tenant, id, setup.as_ref()).await? else {
            tx.rollback().await?;
            return projects::find(&self.store, tenant, id).await?.ok_or(ServiceError::NOT_FOUND);
        };
        let detail = json!({ "setup": setup });
        let event = AuditEvent::by_member(caller, "project.setup-changed", id.to_string(), detail);
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(project)
    }

    async fn resolve(&self, tenant: TenantId, key: &ProjectKey) -> Result<ProjectId, ServiceError> {
        match key {
            ProjectKey::Id(id) => Ok(*id),
            ProjectKey::Slug(slug) => {
                projects::find_id_by_slug(&self.store, tenant, slug).await?.ok_or(ServiceError::NOT_FOUND)
            }
        }
    }
}
