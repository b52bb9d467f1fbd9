//! Projects of tenants.

use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::tenant::Project;
use guildhall_domain::ids::{ProjectId, TenantId};
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, Tx};

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
    }))
}

pub async fn find(store: &Store, tenant: TenantId, id: ProjectId) -> Result<Option<Project>, StoreError> {
    let row = sqlx::query_file!("queries/projects/find.sql", tenant.as_uuid(), id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| Project { id, slug: row.slug, name: row.name, created_at: row.created_at.to_jiff() }))
}

/// Lists at most `limit` projects of a tenant, by slug.
pub async fn list(store: &Store, tenant: TenantId, limit: u32) -> Result<Vec<Project>, StoreError> {
    let rows = sqlx::query_file!("queries/projects/list.sql", tenant.as_uuid(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    let projects = rows.into_iter().map(|row| Project {
        id: ProjectId::from_uuid(row.id),
        slug: row.slug,
        name: row.name,
        created_at: row.created_at.to_jiff(),
    });
    Ok(projects.collect())
}
