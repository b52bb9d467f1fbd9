//! Projects of tenants.

use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::project_setup::ProjectSetup;
use guildhall_domain::access::tenant::Project;
use guildhall_domain::ids::{ProjectId, TenantId};
use jiff_sqlx::Timestamp;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

struct Row {
    id: Uuid,
    slug: String,
    name: String,
    created_at: Timestamp,
    setup: Option<String>,
}

impl Row {
    fn into_project(self) -> Result<Project, StoreError> {
        Ok(Project {
            id: ProjectId::from_uuid(self.id),
            slug: self.slug,
            name: self.name,
            created_at: self.created_at.to_jiff(),
            setup: parse_setup(self.setup.as_deref())?,
        })
    }
}

/// Inserts a project. Returns `None` if its slug is taken in the tenant.
pub async fn insert(
    tx: &mut Tx,
    tenant: TenantId,
    id: ProjectId,
    slug: &Slug,
    name: &str,
) -> Result<Option<Project>, StoreError> {
    let (tenant, uuid) = (tenant.as_uuid(), id.as_uuid());
    let row = sqlx::query_file!("queries/projects/insert.sql", uuid, tenant, slug.as_str(), name)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| Project {
        id,
        slug: slug.as_str().to_owned(),
        name: name.to_owned(),
        created_at: row.created_at.to_jiff(),
        setup: None,
    }))
}

pub async fn find(store: &Store, tenant: TenantId, id: ProjectId) -> Result<Option<Project>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/projects/find.sql", tenant.as_uuid(), id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    row.map(Row::into_project).transpose()
}

/// Returns the id of a project. Does not read the setup, which may be unreadable.
pub async fn find_id_by_slug(
    store: &Store,
    tenant: TenantId,
    slug: &Slug,
) -> Result<Option<ProjectId>, StoreError> {
    let row = sqlx::query_file!("queries/projects/find_id_by_slug.sql", tenant.as_uuid(), slug.as_str())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| ProjectId::from_uuid(row.id)))
}

/// Lists at most `limit` projects of a tenant, by slug.
pub async fn list(store: &Store, tenant: TenantId, limit: u32) -> Result<Vec<Project>, StoreError> {
    let rows = sqlx::query_file_as!(Row, "queries/projects/list.sql", tenant.as_uuid(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    rows.into_iter().map(Row::into_project).collect()
}

/// Sets or clears the setup of a project. Returns `None` if nothing changes: there is no such project, or it has this
/// setup.
pub async fn set_setup(
    tx: &mut Tx,
    tenant: TenantId,
    id: ProjectId,
    setup: Option<&ProjectSetup>,
) -> Result<Option<Project>, StoreError> {
    let (tenant, id, setup) = (tenant.as_uuid(), id.as_uuid(), setup.map(ProjectSetup::to_json));
    let row = sqlx::query_file_as!(Row, "queries/projects/set_setup.sql", tenant, id, setup)
        .fetch_optional(tx.connection())
        .await?;
    row.map(Row::into_project).transpose()
}

/// Parses a stored setup. An unreadable one, perhaps of a newer version, is an error: without its setup a run would
/// start in an unprepared workspace.
pub fn parse_setup(text: Option<&str>) -> Result<Option<ProjectSetup>, StoreError> {
    let setup = text.map(ProjectSetup::from_json).transpose();
    setup.map_err(|error| StoreError::Unreadable { column: "projects.setup", source: error.into() })
}
