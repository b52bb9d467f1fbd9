//! Tenants.

use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{PrincipalId, TenantId};

use crate::{Store, StoreError, Tx};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    pub slug: String,
    pub name: String,
}

/// Writes a tenant. Returns whether its slug was free.
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

pub async fn by_slug(store: &Store, slug: &str) -> Result<Option<TenantId>, StoreError> {
    let row = sqlx::query_file!("queries/tenants/by_slug.sql", slug).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| TenantId::from_uuid(row.id)))
}

/// Lists the tenants that a principal is a member of, with its role in each.
pub async fn of_principal(
    store: &Store,
    id: PrincipalId,
    limit: u32,
) -> Result<Vec<(Tenant, Role)>, StoreError> {
    let rows = sqlx::query_file!("queries/tenants/of_principal.sql", id.as_uuid(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    let tenants = rows.into_iter().filter_map(|row| {
        let tenant = Tenant { id: TenantId::from_uuid(row.id), slug: row.slug, name: row.name };
        Some((tenant, Role::from_name(&row.role).ok()?))
    });
    Ok(tenants.collect())
}
