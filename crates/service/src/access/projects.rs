//! Projects: what a tenant divides its work into.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{ProjectId, TenantId};
use guildhall_store::{Store, projects};
use serde_json::json;

pub use guildhall_store::projects::Project;

use crate::ServiceError;
use crate::access::audit;
use crate::access::tenants::event;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// Projects listed in one answer.
const PROJECTS_AT_MOST: u32 = 1000;

/// Makes and shows projects.
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
        caller: &Caller,
        tenant: TenantId,
        slug: &Slug,
        name: &str,
        key: Option<&IdempotencyKey>,
    ) -> Result<Project, ServiceError> {
        caller.acting(tenant)?.require(Right::ProjectsManage)?;
        let mut tx = self.store.begin().await?;
        let id = ProjectId::generate();
        let said = json!(["project", tenant, slug.as_str(), name]);
        if let Claim::Made(made) = idempotency::claim(&mut tx, caller, key, &said, id.as_uuid()).await? {
            let found = projects::find(&self.store, tenant, ProjectId::from_uuid(made)).await?;
            return found.ok_or(ServiceError::NOT_FOUND);
        }
        let made = projects::insert(&mut tx, tenant, id, slug, name).await?;
        let project = made.ok_or_else(|| ServiceError::NameTaken(slug.as_str().to_owned()))?;
        let detail = json!({ "slug": slug.as_str(), "name": name });
        audit::record(&mut tx, &event(caller, tenant, "project.created", id.to_string(), detail)).await?;
        tx.commit().await?;
        Ok(project)
    }

    pub async fn list(&self, caller: &Caller, tenant: TenantId) -> Result<Vec<Project>, ServiceError> {
        caller.acting(tenant)?.require(Right::ProjectsRead)?;
        Ok(projects::list(&self.store, tenant, PROJECTS_AT_MOST).await?)
    }

    pub async fn show(
        &self,
        caller: &Caller,
        tenant: TenantId,
        id: ProjectId,
    ) -> Result<Project, ServiceError> {
        caller.acting(tenant)?.require(Right::ProjectsRead)?;
        projects::find(&self.store, tenant, id).await?.ok_or(ServiceError::NOT_FOUND)
    }
}
