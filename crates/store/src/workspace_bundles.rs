//! Uploaded bundles, which are the workspaces of runs.

use guildhall_domain::ids::{RunId, TenantId};

use crate::{Store, StoreError, Tx};

/// Returns the bytes of all bundles of a tenant. Others who ask for the same tenant wait until the transaction ends.
pub async fn lock_sum(tx: &mut Tx, tenant: TenantId) -> Result<u64, StoreError> {
    sqlx::query_file!("queries/workspace_bundles/lock_tenant.sql", tenant.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    let row = sqlx::query_file!("queries/workspace_bundles/sum_of_tenant.sql", tenant.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(u64::try_from(row.bytes).unwrap_or_default())
}

pub async fn insert(tx: &mut Tx, run: RunId, tenant: TenantId, size_bytes: i64) -> Result<(), StoreError> {
    sqlx::query_file!("queries/workspace_bundles/insert.sql", run.as_uuid(), tenant.as_uuid(), size_bytes)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Stores a part, instead of an earlier one. Returns false if the run has no bundle any more.
pub async fn put_part(
    store: &Store,
    run: RunId,
    number: i32,
    sealed_content: &[u8],
) -> Result<bool, StoreError> {
    let done =
        sqlx::query_file!("queries/workspace_bundles/put_part.sql", run.as_uuid(), number, sealed_content)
            .execute(&store.pool)
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns a part, encrypted.
pub async fn find_part(store: &Store, run: RunId, number: i32) -> Result<Option<Vec<u8>>, StoreError> {
    let row = sqlx::query_file!("queries/workspace_bundles/find_part.sql", run.as_uuid(), number)
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| row.sealed_content))
}

/// Returns the number of parts that were stored.
pub async fn count_parts(store: &Store, run: RunId) -> Result<u64, StoreError> {
    let row = sqlx::query_file!("queries/workspace_bundles/count_parts.sql", run.as_uuid())
        .fetch_one(&store.pool)
        .await?;
    Ok(u64::try_from(row.parts).unwrap_or_default())
}
