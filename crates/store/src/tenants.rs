//! Tenants.

use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::role::Role;
use guildhall_domain::access::tenant::Tenant;
use guildhall_domain::ids::{PrincipalId, TenantId};

use crate::{Store, StoreError, Tx};

/// Inserts a tenant. Returns `false` if its slug is taken.
pub async fn insert(tx: &mut Tx, id: TenantId, slug: &Slug, name: &str) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/tenants/insert.sql", id.as_uuid(), slug.as_str(), name)
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn find(store: &Store, id: TenantId) -> Result<Option<Tenant>, StoreError> {
    let row = sqlx::query_file!("queries/tenants/find.sql", id.as_uuid()).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| Tenant { id: TenantId::from_uuid(row.id), slug: row.slug, name: row.name }))
}

pub async fn find_by_slug(store: &Store, slug: &str) -> Result<Option<TenantId>, StoreError> {
    let row = sqlx::query_file!("queries/tenants/find_by_slug.sql", slug).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| TenantId::from_uuid(row.id)))
}

/// Lists the tenants of a principal, with its role in each.
pub async fn list_by_principal(
    store: &Store,
    id: PrincipalId,
    limit: u32,
) -> Result<Vec<(Tenant, Role)>, StoreError> {
    let rows = sqlx::query_file!("queries/tenants/list_by_principal.sql", id.as_uuid(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    let tenants = rows.into_iter().filter_map(|row| {
        let tenant = Tenant { id: TenantId::from_uuid(row.id), slug: row.slug, name: row.name };
        Some((tenant, Role::from_name(&row.role).ok()?))
    });
    Ok(tenants.collect())
}
