//! Partitions of the events table: one per week of runs.

use crate::{Store, StoreError};

/// Creates the missing partitions for the runs of the next weeks.
pub async fn create_run_partitions(store: &Store, weeks: u32) -> Result<(), StoreError> {
    let weeks = i32::try_from(weeks).unwrap_or(i32::MAX);
    sqlx::query_file!("queries/journal/create_run_partitions.sql", weeks).fetch_one(&store.pool).await?;
    Ok(())
}
