//! How long tenants keep their history.

use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_domain::retention::HistoryDays;
use sqlx::PgExecutor;

use crate::{Store, StoreError, Tx};

/// Returns how long a tenant keeps its history; `None` if for good.
pub async fn find(store: &Store, tenant: TenantId) -> Result<Option<HistoryDays>, StoreError> {
    read(&store.pool, tenant).await
}

/// Returns the same within a transaction.
pub async fn load(tx: &mut Tx, tenant: TenantId) -> Result<Option<HistoryDays>, StoreError> {
    read(tx.connection(), tenant).await
}

async fn read(executor: impl PgExecutor<'_>, tenant: TenantId) -> Result<Option<HistoryDays>, StoreError> {
    let row = sqlx::query_file!("queries/retention_policies/find.sql", tenant.as_uuid())
        .fetch_optional(executor)
        .await?;
    Ok(row.and_then(|row| parse(row.history_days)))
}

/// Returns the same, and keeps others from changing it until the end of the transaction.
pub async fn lock(tx: &mut Tx, tenant: TenantId) -> Result<Option<HistoryDays>, StoreError> {
    let row = sqlx::query_file!("queries/retention_policies/find_for_share.sql", tenant.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.and_then(|row| parse(row.history_days)))
}

/// Lists the tenants that do not keep their history for good.
pub async fn list(store: &Store) -> Result<Vec<(TenantId, HistoryDays)>, StoreError> {
    let rows = sqlx::query_file!("queries/retention_policies/list.sql").fetch_all(&store.pool).await?;
    let policies = rows.into_iter();
    Ok(policies.filter_map(|row| Some((TenantId::from_uuid(row.tenant), parse(row.history_days)?))).collect())
}

pub async fn upsert(
    tx: &mut Tx,
    tenant: TenantId,
    days: HistoryDays,
    updated_by: PrincipalId,
) -> Result<(), StoreError> {
    let (days, updated_by) = (i32::from(days.get()), updated_by.as_uuid());
    sqlx::query_file!("queries/retention_policies/upsert.sql", tenant.as_uuid(), days, updated_by)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Deletes the policy of a tenant. Returns whether it had one.
pub async fn delete(tx: &mut Tx, tenant: TenantId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/retention_policies/delete.sql", tenant.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// The table has a constraint of the same range.
fn parse(days: i32) -> Option<HistoryDays> {
    HistoryDays::new(u32::try_from(days).ok()?).ok()
}
