//! Partitions of messages: one for some days of expiry.

use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};

use crate::partitions::{detach_and_drop, drop_tables};
use crate::{Store, StoreError};

const PARENT: &str = "inbox_messages";

/// Creates the missing partitions for messages that expire within `days_ahead`, of `days_each` each: at most a week.
pub async fn create_partitions(store: &Store, days_ahead: u32, days_each: u32) -> Result<(), StoreError> {
    let [days_ahead, days_each] = [days_ahead, days_each].map(|days| i32::try_from(days).unwrap_or(i32::MAX));
    sqlx::query_file!("queries/inbox_messages/create_partitions.sql", days_ahead, days_each)
        .fetch_one(&store.pool)
        .await?;
    Ok(())
}

/// Lists the partitions whose messages expired before a time.
pub async fn list_expired_partitions(
    store: &Store,
    expired_before: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let before = expired_before.to_sqlx();
    Ok(sqlx::query_file_scalar!("queries/inbox_messages/list_expired_partitions.sql", before as SqlTimestamp)
        .fetch_all(&store.pool)
        .await?)
}

/// Drops a partition. Nobody waits for it. Returns false if another process is dropping one, or has dropped it.
pub async fn drop_partition(store: &Store, name: &str) -> Result<bool, StoreError> {
    detach_and_drop(store, PARENT, name).await
}

/// Drops what is left of partitions that were detached.
pub async fn drop_detached_partitions(store: &Store, now: Timestamp) -> Result<(), StoreError> {
    let names = sqlx::query_file_scalar!(
        "queries/inbox_messages/list_detached_partitions.sql",
        now.to_sqlx() as SqlTimestamp
    )
    .fetch_all(&store.pool)
    .await?;
    drop_tables(store, names).await
}
