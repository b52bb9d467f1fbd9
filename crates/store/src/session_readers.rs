//! Readers of sessions: what is running or unread for them, and their read markers. See ADR 053.

use guildhall_domain::ids::{SessionId, TenantId};
use guildhall_domain::sessions::{Session, SessionFilter, SessionVersion};
use jiff_sqlx::Timestamp;
use uuid::Uuid;

use crate::sessions::{Reader, SessionRow};
use crate::{Store, StoreError, Tx};

/// Changed sessions that a list reads, or that one read marker settles. If there are more, the list reads from the newest session on.
const MAX_CHANGED: i64 = 1000;

/// Older sessions that one read marker settles.
const MAX_PASSED: i64 = 5000;

/// Unread ones among them: each gets a row.
const MAX_PASSED_UNREAD: i64 = 8;

/// Lists the sessions of the reader's tenants that are running or unread, newest first.
pub async fn list_unread(
    store: &Store,
    reader: Reader<'_>,
    filter: &SessionFilter<'_>,
    limit: u32,
) -> Result<Vec<Session>, StoreError> {
    let rows = sqlx::query_file_as!(
        SessionRow,
        "queries/sessions/list_unread.sql",
        reader.principal.as_uuid(),
        reader.name,
        filter.before.map_or(Uuid::max(), SessionId::as_uuid),
        filter.tenant.map(TenantId::as_uuid),
        filter.backend_profile,
        i64::from(limit),
        MAX_CHANGED
    )
    .fetch_all(&store.pool)
    .await?;
    Ok(rows.into_iter().map(SessionRow::into_session).collect())
}

/// Advances a reader's read marker. Returns the marker after the update, or `None` if the session does not exist.
pub async fn mark_read(
    store: &Store,
    id: SessionId,
    reader: Reader<'_>,
    version: SessionVersion,
) -> Result<Option<SessionVersion>, StoreError> {
    let mut tx = store.begin().await?;
    let locked = sqlx::query_file!(
        "queries/session_readers/lock.sql",
        id.as_uuid(),
        reader.principal.as_uuid(),
        reader.name
    )
    .fetch_optional(tx.connection())
    .await?;
    let marked = sqlx::query_file!(
        "queries/session_reads/upsert.sql",
        id.as_uuid(),
        reader.principal.as_uuid(),
        reader.name,
        version.get(),
        locked.is_some()
    )
    .fetch_optional(tx.connection())
    .await?;
    if let Some(locked) = locked {
        settle(&mut tx, TenantId::from_uuid(locked.tenant), reader).await?;
    }
    tx.commit().await?;
    Ok(marked.map(|row| SessionVersion::new(row.version)))
}

/// Settles more sessions of a tenant for a reader whose row is locked.
async fn settle(tx: &mut Tx, tenant: TenantId, reader: Reader<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/session_readers/settle.sql",
        tenant.as_uuid(),
        reader.principal.as_uuid(),
        reader.name,
        MAX_CHANGED,
        MAX_PASSED,
        MAX_PASSED_UNREAD
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}
