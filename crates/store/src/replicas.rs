//! Replicas: the server processes that run on this database.

use guildhall_domain::ops::replica::Replica;
use std::time::Duration;

use guildhall_domain::ids::ReplicaId;
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{Store, StoreError};

/// Records that a replica is alive.
pub async fn heartbeat(
    store: &Store,
    id: ReplicaId,
    version: &str,
    started_at: jiff::Timestamp,
) -> Result<(), StoreError> {
    let started_at = started_at.to_sqlx();
    sqlx::query_file!("queries/replicas/upsert.sql", id.as_uuid(), version, started_at as Timestamp)
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// Deletes replicas without a heartbeat for `silence`. Returns how many were deleted.
pub async fn delete_stale(store: &Store, silence: Duration) -> Result<u64, StoreError> {
    let done = sqlx::query_file!("queries/replicas/delete_stale.sql", silence.as_secs_f64())
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected())
}

/// Deletes a replica that shuts down.
pub async fn delete(store: &Store, id: ReplicaId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/replicas/delete.sql", id.as_uuid()).execute(&store.pool).await?;
    Ok(())
}

/// Lists at most `limit` replicas, oldest first.
pub async fn list(store: &Store, limit: u32) -> Result<Vec<Replica>, StoreError> {
    let rows =
        sqlx::query_file!("queries/replicas/list.sql", i64::from(limit)).fetch_all(&store.pool).await?;
    let replicas = rows.into_iter().map(|row| Replica {
        id: ReplicaId::from_uuid(row.id),
        version: row.version,
        started_at: row.started_at.to_jiff(),
        seen_at: row.seen_at.to_jiff(),
    });
    Ok(replicas.collect())
}
