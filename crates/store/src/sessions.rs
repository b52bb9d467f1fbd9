//! Sessions and the read markers of their readers.

use guildhall_domain::sessions::Session;
use guildhall_domain::sessions::SessionFilter;
use std::time::Duration;

use guildhall_domain::ids::{CommandId, PrincipalId, RunId, SessionId, TenantId};
use guildhall_domain::journal::{Journal, Stream};
use guildhall_domain::sessions::{ExecutionState, SessionVersion};
use jiff_sqlx::Timestamp;
use uuid::Uuid;

use crate::{Store, StoreError, Tx, session_storage};

/// Values of a new session.
#[derive(Debug, Clone)]
pub struct NewSession<'a> {
    pub id: SessionId,
    pub tenant: TenantId,
    pub project: &'a str,
    pub backend_profile: &'a str,
    pub created_by: PrincipalId,
    /// How long its storage is kept; by default a configured time after the last use.
    pub expires_in: Option<Duration>,
}

/// A reader of sessions: a principal and a client-chosen name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader<'a> {
    pub principal: PrincipalId,
    pub name: &'a str,
}

pub(crate) struct SessionRow {
    pub(crate) id: Uuid,
    pub(crate) tenant: Uuid,
    pub(crate) title: Option<String>,
    pub(crate) project: String,
    pub(crate) backend_profile: String,
    pub(crate) created_by: Uuid,
    pub(crate) created_at: Timestamp,
    pub(crate) thread_id: Option<String>,
    pub(crate) version: i64,
    pub(crate) runs: i32,
    pub(crate) running: bool,
    pub(crate) active_run: Option<Uuid>,
    pub(crate) active_command: Option<Uuid>,
    pub(crate) last_run: Option<Uuid>,
    pub(crate) storage_kind: String,
    pub(crate) updated_at: Timestamp,
    pub(crate) read_version: i64,
}

impl SessionRow {
    pub(crate) fn into_session(self) -> Session {
        Session {
            id: SessionId::from_uuid(self.id),
            tenant: TenantId::from_uuid(self.tenant),
            title: self.title,
            project: self.project,
            backend_profile: self.backend_profile,
            created_by: PrincipalId::from_uuid(self.created_by),
            created_at: self.created_at.to_jiff(),
            thread_id: self.thread_id,
            version: SessionVersion::new(self.version),
            runs: self.runs,
            state: if self.running { ExecutionState::Running } else { ExecutionState::Terminal },
            active_run: self.active_run.map(RunId::from_uuid),
            active_command: self.active_command.map(CommandId::from_uuid),
            last_run: self.last_run.map(RunId::from_uuid),
            storage: session_storage::parse_kind(&self.storage_kind),
            updated_at: self.updated_at.to_jiff(),
            read_version: SessionVersion::new(self.read_version),
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

/// Inserts a session with its first run, which the caller inserts next.
pub async fn insert_with_run(tx: &mut Tx, new: &NewSession<'_>, run: RunId) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/sessions/insert_with_run.sql",
        new.id.as_uuid(),
        new.tenant.as_uuid(),
        new.project,
        new.backend_profile,
        new.created_by.as_uuid(),
        new.expires_in.map(|time| time.as_secs_f64() * 1000.0),
        run.as_uuid()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Records a new open run of a session. Returns the run's ordinal, or `None` if the session's storage was evicted.
pub async fn begin_run(tx: &mut Tx, session: SessionId, run: RunId) -> Result<Option<i32>, StoreError> {
    let row = sqlx::query_file!("queries/sessions/begin_run.sql", session.as_uuid(), run.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| row.runs))
}

/// Returns whether the storage of a session was evicted, in a transaction.
pub async fn is_evicted(tx: &mut Tx, session: SessionId) -> Result<bool, StoreError> {
    let found = sqlx::query_file_scalar!("queries/sessions/is_evicted.sql", session.as_uuid());
    Ok(found.fetch_optional(tx.connection()).await?.unwrap_or_default())
}

pub async fn find(store: &Store, id: SessionId, reader: Reader<'_>) -> Result<Option<Session>, StoreError> {
    let row = sqlx::query_file_as!(
        SessionRow,
        "queries/sessions/find.sql",
        id.as_uuid(),
        reader.principal.as_uuid(),
        reader.name
    )
    .fetch_optional(&store.pool)
    .await?;
    Ok(row.map(SessionRow::into_session))
}

/// Finds the tenant of a session.
pub async fn find_tenant(store: &Store, id: SessionId) -> Result<Option<TenantId>, StoreError> {
    let row = sqlx::query_file!("queries/sessions/find_tenant.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| TenantId::from_uuid(row.tenant)))
}

/// Lists all sessions of the reader's tenants, newest first. [`crate::session_readers::list_unread`] lists the default.
pub async fn list_all(
    store: &Store,
    reader: Reader<'_>,
    filter: &SessionFilter<'_>,
    limit: u32,
) -> Result<Vec<Session>, StoreError> {
    let rows = sqlx::query_file_as!(
        SessionRow,
        "queries/sessions/list_all.sql",
        reader.principal.as_uuid(),
        reader.name,
        filter.before.map_or(Uuid::max(), SessionId::as_uuid),
        filter.tenant.map(TenantId::as_uuid),
        filter.backend_profile,
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    Ok(rows.into_iter().map(SessionRow::into_session).collect())
}

/// The active run and command of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveWork {
    pub session: SessionId,
    pub run: Option<RunId>,
    pub command: Option<CommandId>,
    /// Number of commands and runs that ended since the last update; the session's version grows by it.
    pub ended: u32,
    /// The backend's thread, which the next run resumes; none to keep the stored one.
    pub thread_id: Option<String>,
}

/// Updates the active run and command, and increases the session's version by `ended`. An append of events does it too.
pub async fn set_active(tx: &mut Tx, active: &ActiveWork) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/sessions/set_active.sql",
        active.session.as_uuid(),
        active.run.map(RunId::as_uuid),
        active.command.map(CommandId::as_uuid),
        i64::from(active.ended),
        active.thread_id.as_deref()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// A run of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionRun {
    pub(crate) run: RunId,
    pub(crate) ordinal: i32,
    pub(crate) at: jiff::Timestamp,
}

/// Lists the runs of a session with a higher ordinal than `after`, in order.
pub(crate) async fn list_runs(
    store: &Store,
    id: Uuid,
    after: i32,
    limit: u32,
) -> Result<Vec<SessionRun>, StoreError> {
    let rows = sqlx::query_file!("queries/runs/list_by_session.sql", id, after, i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    let runs = rows.into_iter().map(|row| SessionRun {
        run: RunId::from_uuid(row.id),
        ordinal: row.ordinal,
        at: row.created_at.to_jiff(),
    });
    Ok(runs.collect())
}

/// Returns the journal stream of a session's runs.
#[must_use]
pub fn stream(id: SessionId) -> Stream {
    Stream { journal: Journal::Session, owner: id.as_uuid() }
}
