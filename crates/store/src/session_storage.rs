//! SessionStorage of sessions: its summary and its life cycle.

use guildhall_domain::sessions::storage::SessionStorage;
use guildhall_domain::sessions::storage::StorageSummary;
use std::time::Duration;

use guildhall_domain::ids::{RunId, SessionId, TenantId};
use guildhall_domain::sessions::StorageKind;
use jiff_sqlx::Timestamp;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

pub async fn find(store: &Store, id: SessionId) -> Result<Option<SessionStorage>, StoreError> {
    find_with(&store.pool, id).await
}

pub async fn load(tx: &mut Tx, id: SessionId) -> Result<Option<SessionStorage>, StoreError> {
    find_with(tx.connection(), id).await
}

async fn find_with(
    executor: impl PgExecutor<'_>,
    id: SessionId,
) -> Result<Option<SessionStorage>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/sessions/find_storage.sql", id.as_uuid())
        .fetch_optional(executor)
        .await?;
    Ok(row.map(Row::into_storage))
}

struct Row {
    storage_kind: String,
    storage_size_bytes: Option<i64>,
    storage_files_count: Option<i64>,
    storage_sha256: Option<String>,
    storage_updated_at: Option<Timestamp>,
    storage_evicted_at: Option<Timestamp>,
    storage_removed_at: Option<Timestamp>,
    active_run: Option<Uuid>,
}

impl Row {
    fn into_storage(self) -> SessionStorage {
        SessionStorage {
            kind: parse_kind(&self.storage_kind),
            size_bytes: self.storage_size_bytes,
            files_count: self.storage_files_count,
            sha256: self.storage_sha256,
            updated_at: self.storage_updated_at.map(Timestamp::to_jiff),
            evicted_at: self.storage_evicted_at.map(Timestamp::to_jiff),
            removed_at: self.storage_removed_at.map(Timestamp::to_jiff),
            active_run: self.active_run.map(RunId::from_uuid),
        }
    }
}

/// Parses a kind. An unknown one, written by a newer binary, must not be used.
pub(crate) fn parse_kind(name: &str) -> StorageKind {
    StorageKind::from_name(name).unwrap_or(StorageKind::Evicted)
}

/// Stores a runner's summary. Returns `None` if the storage was evicted.
pub async fn update(
    tx: &mut Tx,
    id: SessionId,
    summary: &StorageSummary<'_>,
) -> Result<Option<SessionStorage>, StoreError> {
    let row = sqlx::query_file_as!(
        Row,
        "queries/sessions/update_storage.sql",
        id.as_uuid(),
        summary.size_bytes,
        summary.files_count,
        summary.sha256
    )
    .fetch_optional(tx.connection())
    .await?;
    Ok(row.map(Row::into_storage))
}

/// Marks a session's storage as evicted. Returns `false` if it already was, or while a run is open.
pub async fn evict(tx: &mut Tx, id: SessionId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/sessions/evict_storage.sql", id.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Lists sessions whose storage has expired.
pub async fn list_expired(
    store: &Store,
    after: Duration,
    limit: u32,
) -> Result<Vec<(SessionId, TenantId)>, StoreError> {
    let after_ms = after.as_secs_f64() * 1000.0;
    let rows = sqlx::query_file!("queries/sessions/list_expired_storage.sql", after_ms, i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| (SessionId::from_uuid(row.id), TenantId::from_uuid(row.tenant))).collect())
}

/// Lists sessions with evicted storage that its owner has not reported as removed, after `after`.
pub async fn list_to_remove(
    store: &Store,
    after: Option<SessionId>,
    limit: u32,
) -> Result<Vec<SessionId>, StoreError> {
    let after = after.map_or(Uuid::nil(), SessionId::as_uuid);
    let rows = sqlx::query_file!("queries/sessions/list_storage_to_remove.sql", after, i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| SessionId::from_uuid(row.id)).collect())
}

/// Records that the storage of a session is removed.
pub async fn set_removed(store: &Store, id: SessionId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/sessions/set_storage_removed.sql", id.as_uuid()).execute(&store.pool).await?;
    Ok(())
}
