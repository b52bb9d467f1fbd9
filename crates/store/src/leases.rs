//! Leases: which runner holds which run, on the clock of the database. A run without a holder has no row.

use std::time::Duration;

use guildhall_domain::ids::{RunId, RunnerId};
use guildhall_domain::journal::Epoch;
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, Tx};

/// Assigns a run to a runner. Returns when the lease expires unless it is renewed.
pub async fn upsert(
    tx: &mut Tx,
    run: RunId,
    runner: RunnerId,
    epoch: Epoch,
    hold: Duration,
) -> Result<jiff::Timestamp, StoreError> {
    let hold_ms = i32::try_from(hold.as_millis()).unwrap_or(i32::MAX);
    let row =
        sqlx::query_file!("queries/leases/upsert.sql", run.as_uuid(), runner.as_uuid(), epoch.get(), hold_ms)
            .fetch_one(tx.connection())
            .await?;
    Ok(row.expires_at.to_jiff())
}

/// Renews a lease. Returns the new expiry, or `None` if the epoch is no longer current.
pub async fn extend(tx: &mut Tx, run: RunId, epoch: Epoch) -> Result<Option<jiff::Timestamp>, StoreError> {
    let row = sqlx::query_file!("queries/leases/extend.sql", run.as_uuid(), epoch.get())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| row.expires_at.to_jiff()))
}

pub async fn delete(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/leases/delete.sql", run.as_uuid()).execute(tx.connection()).await?;
    Ok(())
}

/// Lists runs whose lease expired more than `grace` ago.
pub async fn list_expired(store: &Store, grace: Duration, limit: u32) -> Result<Vec<RunId>, StoreError> {
    let rows = sqlx::query_file!("queries/leases/list_expired.sql", grace.as_secs_f64(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| RunId::from_uuid(row.run)).collect())
}
