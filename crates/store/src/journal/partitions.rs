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
    is_detaching: bool,
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

/// Lists the partitions whose week ended before a time, the oldest first.
pub async fn list_run_partitions(
    store: &Store,
    ended_before: Timestamp,
) -> Result<Vec<RunPartition>, StoreError> {
    let before = ended_before.to_sqlx();
    let rows = sqlx::query_file!("queries/journal/list_run_partitions.sql", before as SqlTimestamp)
        .fetch_all(&store.pool)
        .await?;
    let partitions = rows.into_iter().map(|row| RunPartition {
        name: row.name,
        first: row.first,
        end: row.end,
        is_detaching: row.is_detaching,
    });
    Ok(partitions.collect())
}

/// Drops a partition. Readers and writers of other partitions do not wait: it is detached without a lock that stops them,
/// and dropped when nobody uses it any more. Returns false if another process is dropping one. A process that was killed
/// in between leaves a table that [`drop_detached_partitions`] drops.
pub async fn drop_run_partition(store: &Store, partition: &RunPartition) -> Result<bool, StoreError> {
    let mut connection = store.connect_without_timeouts().await?;
    let dropped = match try_lock(&mut connection).await? {
        true => {
            let name = &partition.name;
            let how = if partition.is_detaching { "FINALIZE" } else { "CONCURRENTLY" };
            execute(
                &mut connection,
                format!("ALTER TABLE journal_entries_run DETACH PARTITION {name} {how}"),
            )
            .await?;
            execute(&mut connection, format!("DROP TABLE {name}")).await?;
            true
        }
        false => false,
    };
    connection.close().await?;
    Ok(dropped)
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
