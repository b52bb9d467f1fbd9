//! Leases: who holds which run, on the database's clock. A run that nobody holds has no row.

use std::time::Duration;

use guildhall_domain::ids::{RunId, RunnerId};
use guildhall_domain::journal::Epoch;
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, Tx};

/// Gives a run to a runner. Returns when the lease ends unless it is renewed.
pub async fn put(
    tx: &mut Tx,
    run: RunId,
    runner: RunnerId,
    epoch: Epoch,
    hold: Duration,
) -> Result<jiff::Timestamp, StoreError> {
    let hold_ms = i32::try_from(hold.as_millis()).unwrap_or(i32::MAX);
    let row =
        sqlx::query_file!("queries/leases/put.sql", run.as_uuid(), runner.as_uuid(), epoch.get(), hold_ms)
            .fetch_one(tx.connection())
            .await?;
    Ok(row.expires_at.to_jiff())
}

/// Renews a lease. Returns until when, or none where the epoch is over.
pub async fn extend(tx: &mut Tx, run: RunId, epoch: Epoch) -> Result<Option<jiff::Timestamp>, StoreError> {
    let row = sqlx::query_file!("queries/leases/extend.sql", run.as_uuid(), epoch.get())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| row.expires_at.to_jiff()))
}

pub async fn drop(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/leases/drop.sql", run.as_uuid()).execute(tx.connection()).await?;
    Ok(())
}

/// Finds runs whose lease, and the grace after it, is over.
pub async fn over(store: &Store, grace: Duration, limit: u32) -> Result<Vec<RunId>, StoreError> {
    let rows = sqlx::query_file!("queries/leases/over.sql", grace.as_secs_f64(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| RunId::from_uuid(row.run)).collect())
}
