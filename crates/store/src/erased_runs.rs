//! Runs that were erased and whose events are still stored.

use guildhall_domain::ids::RunId;
use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};
use uuid::Uuid;

use crate::journal::RunPartition;
use crate::{Store, StoreError};

/// The runs that a partition of events still has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptRuns {
    pub any: bool,
    /// Whether one of them is kept beyond a time.
    pub lasting: bool,
}

/// Looks for kept runs of a partition.
pub async fn find_kept(
    store: &Store,
    partition: &RunPartition,
    lasting_beyond: Timestamp,
) -> Result<KeptRuns, StoreError> {
    let (first, end) = partition.bounds();
    let beyond = lasting_beyond.to_sqlx();
    let row = sqlx::query_file!("queries/erased_runs/has_runs.sql", first, end, beyond as SqlTimestamp)
        .fetch_one(&store.pool)
        .await?;
    Ok(KeptRuns { any: row.any, lasting: row.lasting })
}

/// Lists erased runs in a range of ids.
pub async fn list(store: &Store, (first, end): (Uuid, Uuid), limit: u32) -> Result<Vec<RunId>, StoreError> {
    let runs = sqlx::query_file_scalar!("queries/erased_runs/list.sql", first, end, i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(runs.into_iter().map(RunId::from_uuid).collect())
}

/// Deletes the events of erased runs, and then forgets the runs.
pub async fn delete_events(store: &Store, runs: &[RunId]) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = runs.iter().map(|run| run.as_uuid()).collect();
    let mut tx = store.begin().await?;
    sqlx::query_file!("queries/erased_runs/delete_events.sql", &ids).execute(tx.connection()).await?;
    sqlx::query_file!("queries/erased_runs/delete.sql", &ids).execute(tx.connection()).await?;
    tx.commit().await
}

/// Forgets erased runs whose events are gone.
pub async fn forget(store: &Store, runs: &[RunId]) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = runs.iter().map(|run| run.as_uuid()).collect();
    sqlx::query_file!("queries/erased_runs/delete.sql", &ids).execute(&store.pool).await?;
    Ok(())
}
