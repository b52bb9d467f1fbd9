//! Partitions of the events table: one per week of runs.

use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};
use uuid::Uuid;

use crate::partitions::{detach_and_drop, drop_tables};
use crate::{Store, StoreError};

const PARENT: &str = "journal_entries_run";

/// A partition of events whose week is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPartition {
    pub name: String,
    first: Uuid,
    end: Uuid,
}

impl RunPartition {
    /// Returns the lowest id of its runs, and the id that follows the highest.
    #[must_use]
    pub fn bounds(&self) -> (Uuid, Uuid) {
        (self.first, self.end)
    }
}

/// Creates the missing partitions for the runs of the next weeks.
pub async fn create_run_partitions(store: &Store, weeks: u32) -> Result<(), StoreError> {
    let weeks = i32::try_from(weeks).unwrap_or(i32::MAX);
    sqlx::query_file!("queries/journal/create_run_partitions.sql", weeks).fetch_one(&store.pool).await?;
    Ok(())
}

/// Lists the partitions whose week ended before a time.
pub async fn list_run_partitions(
    store: &Store,
    ended_before: Timestamp,
) -> Result<Vec<RunPartition>, StoreError> {
    let before = ended_before.to_sqlx();
    let rows = sqlx::query_file!("queries/journal/list_run_partitions.sql", before as SqlTimestamp)
        .fetch_all(&store.pool)
        .await?;
    let partitions =
        rows.into_iter().map(|row| RunPartition { name: row.name, first: row.first, end: row.end });
    Ok(partitions.collect())
}

/// Drops a partition. Returns false if another process is dropping one, or has dropped it.
pub async fn drop_run_partition(store: &Store, partition: &RunPartition) -> Result<bool, StoreError> {
    detach_and_drop(store, PARENT, &partition.name).await
}

/// Drops what is left of partitions that were detached.
pub async fn drop_detached_partitions(store: &Store) -> Result<(), StoreError> {
    let names = sqlx::query_file_scalar!("queries/journal/list_detached_partitions.sql")
        .fetch_all(&store.pool)
        .await?;
    drop_tables(store, names).await
}
