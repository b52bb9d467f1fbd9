//! The server processes that run on this database.

use std::time::Duration;

use guildhall_domain::ids::ReplicaId;
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{Store, StoreError};

/// One server process, as the others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    pub id: ReplicaId,
    pub version: String,
    pub started_at: jiff::Timestamp,
    pub seen_at: jiff::Timestamp,
}

/// Writes that a replica is alive.
pub async fn heartbeat(
    store: &Store,
    id: ReplicaId,
    version: &str,
    started_at: jiff::Timestamp,
) -> Result<(), StoreError> {
    let started_at = started_at.to_sqlx();
    sqlx::query_file!("queries/replicas/heartbeat.sql", id.as_uuid(), version, started_at as Timestamp)
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// Forgets replicas that have been silent for so long. Returns how many there were.
pub async fn forget_silent(store: &Store, silence: Duration) -> Result<u64, StoreError> {
    let done = sqlx::query_file!("queries/replicas/forget_silent.sql", silence.as_secs_f64())
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected())
}

/// Forgets a replica that shuts down.
pub async fn leave(store: &Store, id: ReplicaId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/replicas/leave.sql", id.as_uuid()).execute(&store.pool).await?;
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
