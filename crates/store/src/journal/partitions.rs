//! Partitions of the events table: one per week of runs.

use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use uuid::Uuid;

use crate::{Store, StoreError};

/// Only one process at a time changes partitions.
const LOCK: i64 = 0x6768_7061_7274_6e73;

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

/// Drops a partition. Readers and writers of other partitions do not wait: it is detached without a lock that stops them,
/// and dropped when nobody uses it any more. Returns false if another process is dropping one, or has dropped it. A process that was killed
/// in between leaves a table that [`drop_detached_partitions`] drops.
pub async fn drop_run_partition(store: &Store, partition: &RunPartition) -> Result<bool, StoreError> {
    let mut connection = store.connect_without_timeouts().await?;
    let dropped = match try_lock(&mut connection).await? {
        true => detach_and_drop(&mut connection, &partition.name).await?,
        false => false,
    };
    connection.close().await?;
    Ok(dropped)
}

/// Another process may have detached it since it was listed.
async fn detach_and_drop(connection: &mut PgConnection, name: &str) -> Result<bool, StoreError> {
    let is_detaching = "SELECT inhdetachpending FROM pg_inherits WHERE inhrelid = to_regclass($1)";
    let is_detaching: Option<bool> =
        sqlx::query_scalar(is_detaching).bind(name).fetch_optional(&mut *connection).await?;
    let Some(is_detaching) = is_detaching else { return Ok(false) };
    let mode = if is_detaching { "FINALIZE" } else { "CONCURRENTLY" };
    execute(connection, format!("ALTER TABLE journal_entries_run DETACH PARTITION {name} {mode}")).await?;
    execute(connection, format!("DROP TABLE {name}")).await?;
    Ok(true)
}

/// Drops what is left of partitions that were detached.
pub async fn drop_detached_partitions(store: &Store) -> Result<(), StoreError> {
    let names = sqlx::query_file_scalar!("queries/journal/list_detached_partitions.sql")
        .fetch_all(&store.pool)
        .await?;
    if names.is_empty() {
        return Ok(());
    }
    let mut connection = store.connect_without_timeouts().await?;
    if try_lock(&mut connection).await? {
        for name in names {
            execute(&mut connection, format!("DROP TABLE IF EXISTS {name}")).await?;
        }
    }
    Ok(connection.close().await?)
}

/// The lock ends with the connection.
async fn try_lock(connection: &mut PgConnection) -> Result<bool, StoreError> {
    Ok(sqlx::query_scalar("SELECT pg_try_advisory_lock($1)").bind(LOCK).fetch_one(connection).await?)
}

/// Names of partitions come from the catalogue and have the form `journal_entries_run_2026w46`.
async fn execute(connection: &mut PgConnection, statement: String) -> Result<(), StoreError> {
    connection.execute(AssertSqlSafe(statement)).await?;
    Ok(())
}
