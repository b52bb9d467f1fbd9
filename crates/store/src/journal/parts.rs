//! The parts of the table of events: one a week of runs.

use crate::{Store, StoreError};

/// Makes the parts for the runs of the next weeks, where they are not there yet.
pub async fn make_run_parts(store: &Store, weeks: u32) -> Result<(), StoreError> {
    let weeks = i32::try_from(weeks).unwrap_or(i32::MAX);
    sqlx::query_file!("queries/journal/make_run_parts.sql", weeks).fetch_one(&store.pool).await?;
    Ok(())
}
