//! Sessions, and how far each reader has read.

use std::time::Duration;

use guildhall_domain::ids::{CommandId, PrincipalId, RunId, SessionId, TenantId};
use guildhall_domain::journal::{Journal, Stream};
use guildhall_domain::sessions::{ExecutionState, StorageKind, Version};
use jiff_sqlx::Timestamp;
use uuid::Uuid;

use crate::{Store, StoreError, Tx, session_storage};

/// A session to write.
#[derive(Debug, Clone)]
pub struct NewSession<'a> {
    pub id: SessionId,
    pub tenant: TenantId,
    pub project: &'a str,
    pub backend_profile: &'a str,
    pub created_by: PrincipalId,
    /// How long its storage is kept; without it some time after its last use.
    pub expires_in: Option<Duration>,
}

/// A session as one reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub tenant: TenantId,
    pub project: String,
    pub backend_profile: String,
    pub created_by: PrincipalId,
    pub created_at: jiff::Timestamp,
    pub thread_id: Option<String>,
    pub version: Version,
    pub runs: i32,
    pub state: ExecutionState,
    pub active_run: Option<RunId>,
    pub active_command: Option<CommandId>,
    pub last_run: Option<RunId>,
    pub storage: StorageKind,
    pub updated_at: jiff::Timestamp,
    /// The version that the reader has read.
    pub read: Version,
}

/// Who reads: a principal, under a name of its choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader<'a> {
    pub principal: PrincipalId,
    pub name: &'a str,
}

struct Row {
    id: Uuid,
    tenant: Uuid,
    project: String,
    backend_profile: String,
    created_by: Uuid,
    created_at: Timestamp,
    thread_id: Option<String>,
    version: i64,
    runs: i32,
    running: bool,
    active_run: Option<Uuid>,
    active_command: Option<Uuid>,
    last_run: Option<Uuid>,
    storage_kind: String,
    updated_at: Timestamp,
    read_version: i64,
}

impl Row {
    fn read(self) -> Session {
        Session {
            id: SessionId::from_uuid(self.id),
            tenant: TenantId::from_uuid(self.tenant),
            project: self.project,
            backend_profile: self.backend_profile,
            created_by: PrincipalId::from_uuid(self.created_by),
            created_at: self.created_at.to_jiff(),
            thread_id: self.thread_id,
            version: Version::new(self.version),
            runs: self.runs,
            state: if self.running { ExecutionState::Running } else { ExecutionState::Terminal },
            active_run: self.active_run.map(RunId::from_uuid),
            active_command: self.active_command.map(CommandId::from_uuid),
            last_run: self.last_run.map(RunId::from_uuid),
            storage: session_storage::kind(&self.storage_kind),
            updated_at: self.updated_at.to_jiff(),
            read: Version::new(self.read_version),
        }
    }
}

pub async fn insert(tx: &mut Tx, new: &NewSession<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/sessions/insert.sql",
        new.id.as_uuid(),
        new.tenant.as_uuid(),
        new.project,
        new.backend_profile,
        new.created_by.as_uuid(),
        new.expires_in.map(|time| time.as_secs_f64() * 1000.0)
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Notes that a session has a new open run. Returns the run's number in it; none where its storage was evicted.
pub async fn begin_run(tx: &mut Tx, session: SessionId, run: RunId) -> Result<Option<i32>, StoreError> {
    let row = sqlx::query_file!("queries/sessions/begin_run.sql", session.as_uuid(), run.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| row.runs))
}

pub async fn find(store: &Store, id: SessionId, reader: Reader<'_>) -> Result<Option<Session>, StoreError> {
    let row = sqlx::query_file_as!(
        Row,
        "queries/sessions/find.sql",
        id.as_uuid(),
        reader.principal.as_uuid(),
        reader.name
    )
    .fetch_optional(&store.pool)
    .await?;
    Ok(row.map(Row::read))
}

/// Returns the tenant that a session belongs to.
pub async fn tenant_of(store: &Store, id: SessionId) -> Result<Option<TenantId>, StoreError> {
    let row =
        sqlx::query_file!("queries/sessions/tenant_of.sql", id.as_uuid()).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| TenantId::from_uuid(row.tenant)))
}

/// Which sessions a list shows.
#[derive(Debug, Clone, Default)]
pub struct Filter<'a> {
    pub tenant: Option<TenantId>,
    pub backend_profile: Option<&'a str>,
    /// Also what is over and was read.
    pub all: bool,
    pub before: Option<SessionId>,
}

/// Lists sessions of the tenants that the reader belongs to, newest first.
pub async fn list(
    store: &Store,
    reader: Reader<'_>,
    filter: &Filter<'_>,
    limit: u32,
) -> Result<Vec<Session>, StoreError> {
    let rows = sqlx::query_file_as!(
        Row,
        "queries/sessions/list.sql",
        reader.principal.as_uuid(),
        reader.name,
        filter.before.map_or(Uuid::max(), SessionId::as_uuid),
        filter.tenant.map(TenantId::as_uuid),
        filter.backend_profile,
        filter.all,
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    Ok(rows.into_iter().map(Row::read).collect())
}

/// What is at work in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Active {
    pub run: Option<RunId>,
    pub command: Option<CommandId>,
    /// How many things have ended since the session was last written.
    pub ended: u32,
}

/// Writes what is at work in a session, and lets its version grow by what has ended.
pub async fn set_active(tx: &mut Tx, id: SessionId, active: Active) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/sessions/set_active.sql",
        id.as_uuid(),
        active.run.map(RunId::as_uuid),
        active.command.map(CommandId::as_uuid),
        active.command.is_some(),
        i64::from(active.ended)
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Keeps the backend's thread, so that the next run resumes it.
pub async fn set_thread(tx: &mut Tx, id: SessionId, thread: &str) -> Result<(), StoreError> {
    sqlx::query_file!("queries/sessions/set_thread.sql", id.as_uuid(), thread)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// A run of a session, and its number in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) run: RunId,
    pub(crate) ordinal: i32,
    pub(crate) at: jiff::Timestamp,
}

/// Reads the runs of a session after a number, in order.
pub(crate) async fn begun(store: &Store, id: Uuid, after: i32, limit: u32) -> Result<Vec<Begun>, StoreError> {
    let rows = sqlx::query_file!("queries/sessions/begun.sql", id, after, i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    let begun = rows.into_iter().map(|row| Begun {
        run: RunId::from_uuid(row.id),
        ordinal: row.ordinal,
        at: row.created_at.to_jiff(),
    });
    Ok(begun.collect())
}

/// Returns the stream of a session's runs.
#[must_use]
pub fn stream(id: SessionId) -> Stream {
    Stream { journal: Journal::Session, owner: id.as_uuid() }
}

/// Notes that a reader has read a session up to a version. Returns where the reader stands now; none where there is no
/// such session.
pub async fn mark_read(
    store: &Store,
    id: SessionId,
    reader: Reader<'_>,
    version: Version,
) -> Result<Option<Version>, StoreError> {
    let row = sqlx::query_file!(
        "queries/session_reads/mark.sql",
        id.as_uuid(),
        reader.principal.as_uuid(),
        reader.name,
        version.get()
    )
    .fetch_optional(&store.pool)
    .await?;
    Ok(row.map(|row| Version::new(row.version)))
}
