//! Restrictions of tenants, within the bounds of the installation.

use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_domain::runs::policy::TenantRestrictions;
use sqlx::PgExecutor;

use crate::{Store, StoreError, Tx};

/// Returns the restrictions of a tenant, if it has any.
pub async fn find(store: &Store, tenant: TenantId) -> Result<Option<TenantRestrictions>, StoreError> {
    read(&store.pool, tenant).await
}

/// Returns the restrictions of a tenant within a transaction.
pub async fn load(tx: &mut Tx, tenant: TenantId) -> Result<Option<TenantRestrictions>, StoreError> {
    read(tx.connection(), tenant).await
}

async fn read(
    executor: impl PgExecutor<'_>,
    tenant: TenantId,
) -> Result<Option<TenantRestrictions>, StoreError> {
    let row = sqlx::query_file!("queries/tenant_bounds/find.sql", tenant.as_uuid())
        .fetch_optional(executor)
        .await?;
    Ok(row.map(|row| TenantRestrictions::from_json(&row.restrictions)))
}

/// Replaces the restrictions of a tenant.
pub async fn upsert(
    tx: &mut Tx,
    tenant: TenantId,
    restrictions: &TenantRestrictions,
    updated_by: PrincipalId,
) -> Result<(), StoreError> {
    let text = restrictions.to_json();
    sqlx::query_file!("queries/tenant_bounds/upsert.sql", tenant.as_uuid(), text, updated_by.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Deletes the restrictions of a tenant. Returns whether it had any.
pub async fn delete(tx: &mut Tx, tenant: TenantId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/tenant_bounds/delete.sql", tenant.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}
