//! Runs that were erased and whose events are still stored.

use guildhall_domain::ids::RunId;
use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};
use uuid::Uuid;

use crate::journal::RunPartition;
use crate::{Store, StoreError};

/// The runs that a partition of events still has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionRuns {
    pub has_runs: bool,
    /// Whether one of them is kept beyond a time, or waits for something since it should have been erased.
    pub has_long_kept_runs: bool,
}

/// Looks for kept runs of a partition.
pub async fn find_kept(
    store: &Store,
    partition: &RunPartition,
    (overdue_since, kept_until): (Timestamp, Timestamp),
) -> Result<PartitionRuns, StoreError> {
    let (first, end) = partition.bounds();
    let (overdue, beyond) = (overdue_since.to_sqlx(), kept_until.to_sqlx());
    let row = sqlx::query_file!(
        "queries/erased_runs/find_kept.sql",
        first,
        end,
        beyond as SqlTimestamp,
        overdue as SqlTimestamp
    )
    .fetch_one(&store.pool)
    .await?;
    Ok(PartitionRuns { has_runs: row.has_runs, has_long_kept_runs: row.has_long_kept_runs })
}

/// Lists erased runs in a range of ids.
pub async fn list(store: &Store, (first, end): (Uuid, Uuid), limit: u32) -> Result<Vec<RunId>, StoreError> {
    let runs = sqlx::query_file_scalar!("queries/erased_runs/list.sql", first, end, i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(runs.into_iter().map(RunId::from_uuid).collect())
}

/// Deletes some events of erased runs. Returns how many.
pub async fn delete_events(store: &Store, runs: &[RunId], limit: u32) -> Result<u64, StoreError> {
    let ids: Vec<Uuid> = runs.iter().map(|run| run.as_uuid()).collect();
    let done = sqlx::query_file!("queries/erased_runs/delete_events.sql", &ids, i64::from(limit))
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected())
}

/// Forgets erased runs whose events are gone.
pub async fn forget(store: &Store, runs: &[RunId]) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = runs.iter().map(|run| run.as_uuid()).collect();
    sqlx::query_file!("queries/erased_runs/delete.sql", &ids).execute(&store.pool).await?;
    Ok(())
}
