//! Drops partitions of tables without making readers and writers of the others wait.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::{Store, StoreError};

/// Only one process at a time changes partitions.
const LOCK: i64 = 0x6768_7061_7274_6e73;

/// Drops a partition: it is detached without a lock that stops others, and dropped when nobody uses it any more. Returns false if
/// another process is dropping one, or has dropped it. A process that was killed in between leaves a table for [`drop_tables`].
pub(crate) async fn detach_and_drop(store: &Store, parent: &str, name: &str) -> Result<bool, StoreError> {
    let mut connection = store.connect_without_timeouts().await?;
    let dropped = match try_lock(&mut connection).await? {
        true => detach(&mut connection, parent, name).await?,
        false => false,
    };
    connection.close().await?;
    Ok(dropped)
}

/// Another process may have detached it since it was listed.
async fn detach(connection: &mut PgConnection, parent: &str, name: &str) -> Result<bool, StoreError> {
    let is_detaching = "SELECT inhdetachpending FROM pg_inherits WHERE inhrelid = to_regclass($1)";
    let is_detaching: Option<bool> =
        sqlx::query_scalar(is_detaching).bind(name).fetch_optional(&mut *connection).await?;
    let Some(is_detaching) = is_detaching else { return Ok(false) };
    let mode = if is_detaching { "FINALIZE" } else { "CONCURRENTLY" };
    execute(connection, format!("ALTER TABLE {parent} DETACH PARTITION {name} {mode}")).await?;
    execute(connection, format!("DROP TABLE {name}")).await?;
    Ok(true)
}

/// Drops tables that were partitions and are detached.
pub(crate) async fn drop_tables(store: &Store, names: Vec<String>) -> Result<(), StoreError> {
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

/// Names of partitions come from the catalogue, and have the form `journal_entries_run_2026w46`.
async fn execute(connection: &mut PgConnection, statement: String) -> Result<(), StoreError> {
    connection.execute(AssertSqlSafe(statement)).await?;
    Ok(())
}
