//! What is known of the storage of sessions.

use std::time::Duration;

use guildhall_domain::ids::{RunId, SessionId, TenantId};
use guildhall_domain::sessions::StorageKind;
use jiff_sqlx::Timestamp;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// A summary, never contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    pub kind: StorageKind,
    pub size_bytes: Option<i64>,
    pub files_count: Option<i64>,
    pub sha256: Option<String>,
    pub updated_at: Option<jiff::Timestamp>,
    pub evicted_at: Option<jiff::Timestamp>,
    /// When whoever owns it said that it is gone.
    pub removed_at: Option<jiff::Timestamp>,
    pub active_run: Option<RunId>,
}

/// What a runner says of the storage that it works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary<'a> {
    pub size_bytes: i64,
    pub files_count: i64,
    pub sha256: &'a str,
}

pub async fn find(store: &Store, id: SessionId) -> Result<Option<Storage>, StoreError> {
    find_on(&store.pool, id).await
}

pub async fn load(tx: &mut Tx, id: SessionId) -> Result<Option<Storage>, StoreError> {
    find_on(tx.connection(), id).await
}

async fn find_on(executor: impl PgExecutor<'_>, id: SessionId) -> Result<Option<Storage>, StoreError> {
    let row =
        sqlx::query_file!("queries/sessions/storage.sql", id.as_uuid()).fetch_optional(executor).await?;
    Ok(row.map(|row| Storage {
        kind: kind(&row.storage_kind),
        size_bytes: row.storage_size_bytes,
        files_count: row.storage_files_count,
        sha256: row.storage_sha256,
        updated_at: row.storage_updated_at.map(Timestamp::to_jiff),
        evicted_at: row.storage_evicted_at.map(Timestamp::to_jiff),
        removed_at: row.storage_removed_at.map(Timestamp::to_jiff),
        active_run: row.active_run.map(RunId::from_uuid),
    }))
}

/// Reads a kind. The table has a check; one that a newer binary wrote is not to be worked in.
pub(crate) fn kind(name: &str) -> StorageKind {
    StorageKind::from_name(name).unwrap_or(StorageKind::Evicted)
}

/// Writes what a runner says. Returns whether it counts: what was evicted stays so.
pub async fn refresh(tx: &mut Tx, id: SessionId, summary: &Summary<'_>) -> Result<bool, StoreError> {
    let done = sqlx::query_file!(
        "queries/sessions/refresh_storage.sql",
        id.as_uuid(),
        summary.size_bytes,
        summary.files_count,
        summary.sha256
    )
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Marks a session's storage as gone. Returns whether that is new; it is not while a run of it is open.
pub async fn evict(tx: &mut Tx, id: SessionId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/sessions/evict_storage.sql", id.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Finds sessions whose storage has had its time.
pub async fn expired(
    store: &Store,
    after: Duration,
    limit: u32,
) -> Result<Vec<(SessionId, TenantId)>, StoreError> {
    let after_ms = after.as_secs_f64() * 1000.0;
    let rows = sqlx::query_file!("queries/sessions/expired.sql", after_ms, i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| (SessionId::from_uuid(row.id), TenantId::from_uuid(row.tenant))).collect())
}

/// Finds sessions after one whose storage is to be gone and of which nobody has said that it is.
pub async fn to_remove(
    store: &Store,
    after: Option<SessionId>,
    limit: u32,
) -> Result<Vec<SessionId>, StoreError> {
    let after = after.map_or(Uuid::nil(), SessionId::as_uuid);
    let rows = sqlx::query_file!("queries/sessions/to_remove.sql", after, i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| SessionId::from_uuid(row.id)).collect())
}

/// Notes that the storage of a session is gone.
pub async fn removed(store: &Store, id: SessionId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/sessions/storage_removed.sql", id.as_uuid()).execute(&store.pool).await?;
    Ok(())
}
