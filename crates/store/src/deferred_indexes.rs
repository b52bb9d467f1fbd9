//! Indexes that are built after readiness. On a big table a build takes minutes; a migration would keep every replica from
//! starting, and lock out writers. Nothing depends on these indexes but the time that statements take.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tracing::info;

use crate::{Store, StoreError};

const STATEMENTS: &str = include_str!("../deferred_indexes.sql");

/// Only one process at a time builds.
const LOCK: i64 = 0x6768_696e_6465_7865;

/// A statement that creates an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IndexStatement {
    name: &'static str,
    /// The table, the columns and the condition.
    on: &'static str,
}

/// Returns whether all indexes are built.
pub async fn are_built(store: &Store) -> Result<bool, StoreError> {
    Ok(list_missing(store).await?.is_empty())
}

/// Builds the missing indexes without stopping writers. Another process may be doing it; then this returns at once.
pub async fn build(store: &Store) -> Result<(), StoreError> {
    if are_built(store).await? {
        return Ok(());
    }
    let mut connection = store.connect_without_timeouts().await?;
    if try_lock(&mut connection).await? {
        for (index, is_invalid) in list_missing(store).await? {
            let IndexStatement { name, on } = index;
            if is_invalid {
                execute(&mut connection, format!("DROP INDEX CONCURRENTLY IF EXISTS {name}")).await?;
            }
            execute(&mut connection, format!("CREATE INDEX CONCURRENTLY {name} ON {on}")).await?;
            info!(index.name = name, "built the index {name}");
        }
    }
    Ok(connection.close().await?)
}

/// Builds the indexes of a database that has no rows yet. Another process may be doing it.
pub(crate) async fn build_at_once(connection: &mut PgConnection) -> Result<(), StoreError> {
    if try_lock(connection).await? {
        for IndexStatement { name, on } in statements() {
            execute(connection, format!("CREATE INDEX IF NOT EXISTS {name} ON {on}")).await?;
        }
    }
    Ok(())
}

/// Lists the indexes that do not exist, or are invalid because their build was interrupted.
async fn list_missing(store: &Store) -> Result<Vec<(IndexStatement, bool)>, StoreError> {
    let names: Vec<String> = statements().map(|index| index.name.to_owned()).collect();
    let found = sqlx::query_file!("queries/deferred_indexes/list.sql", &names).fetch_all(&store.pool).await?;
    let missing = statements().filter_map(|index| {
        let is_valid = found.iter().find(|row| row.name == index.name).map(|row| row.is_valid);
        (is_valid != Some(true)).then_some((index, is_valid.is_some()))
    });
    Ok(missing.collect())
}

fn statements() -> impl Iterator<Item = IndexStatement> {
    STATEMENTS.lines().filter_map(|line| {
        let (name, on) = line.strip_prefix("CREATE INDEX ")?.trim_end_matches(';').split_once(" ON ")?;
        Some(IndexStatement { name, on })
    })
}

/// The lock ends with the connection. A process that waited for it would keep a concurrent build from ending.
async fn try_lock(connection: &mut PgConnection) -> Result<bool, StoreError> {
    Ok(sqlx::query_scalar("SELECT pg_try_advisory_lock($1)").bind(LOCK).fetch_one(connection).await?)
}

async fn execute(connection: &mut PgConnection, statement: String) -> Result<(), StoreError> {
    connection.execute(AssertSqlSafe(statement)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_of_the_file_is_read() {
        let lines = STATEMENTS.lines().filter(|line| !line.starts_with("--"));
        assert_eq!(statements().count(), lines.count());
        assert!(statements().all(|index| !index.name.contains(' ')));
    }
}
