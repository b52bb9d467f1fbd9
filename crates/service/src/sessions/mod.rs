//! Sessions and their storage.

mod create;
pub mod follow;
pub mod storage;
pub mod storage_collector;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::caller::{Caller, VisibleTenants};
use guildhall_domain::access::role::Right;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::ids::{RunId, SessionId, TenantId};
use guildhall_domain::journal::Seq;
use guildhall_domain::runs::command::Command;
use guildhall_domain::sessions::Session;
use guildhall_domain::sessions::SessionFilter;
use guildhall_domain::sessions::SessionVersion;
use guildhall_store::session_readers;
use guildhall_store::sessions::{self as rows, Reader};

use crate::ServiceError;
use crate::deps::Deps;
use crate::runs::events::EventPage;
use crate::runs::{self, RunView};
pub use create::CreateSession;

/// Sessions in one list.
const MAX_LISTED_SESSIONS: u32 = 200;

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub sessions: Sessions,
    pub storage: storage::Storages,
}

/// Opens the group.
#[must_use]
pub fn open(deps: &Deps, runs: &runs::Group) -> Group {
    let sessions = Sessions { deps: deps.clone(), runs: runs.clone() };
    Group { storage: storage::Storages::new(sessions.clone()), sessions }
}

/// A session with its open or latest run.
#[derive(Debug, Clone)]
pub struct SessionView {
    pub session: Session,
    pub run: Option<RunView>,
}

/// What cancelling in a session cancelled.
#[derive(Debug, Clone)]
pub enum SessionCancellation {
    Command(Box<Command>),
    Run(Box<RunView>),
    /// Nothing was open.
    Nothing,
}

/// Creates, reads and follows sessions.
#[derive(Debug, Clone)]
pub struct Sessions {
    pub(crate) deps: Deps,
    runs: runs::Group,
}

impl Sessions {
    /// Lists the sessions of the tenants that the caller belongs to.
    pub async fn list(
        &self,
        caller: &Caller,
        reader: &str,
        filter: &SessionFilter<'_>,
        limit: u32,
    ) -> Result<Vec<Session>, ServiceError> {
        let tenant = match caller.visible_tenants() {
            VisibleTenants::OfMemberships => filter.tenant,
            VisibleTenants::Only(own) if filter.tenant.is_none_or(|named| named == own) => Some(own),
            VisibleTenants::Only(_) | VisibleTenants::Nothing => return Ok(Vec::new()),
        };
        let filter = &SessionFilter { tenant, ..*filter };
        let reader = Reader { principal: caller.principal, name: reader };
        let (store, limit) = (&self.deps.store, limit.clamp(1, MAX_LISTED_SESSIONS));
        if filter.all {
            return Ok(rows::list_all(store, reader, filter, limit).await?);
        }
        Ok(session_readers::list_unread(store, reader, filter, limit).await?)
    }

    /// Returns a session as a reader sees it.
    pub async fn get(
        &self,
        caller: &Authorized<RunsRead>,
        id: SessionId,
        reader: &str,
    ) -> Result<SessionView, ServiceError> {
        let session = self.load(caller, id, reader).await?;
        let run = match session.active_run.or(session.last_run) {
            Some(run) => Some(self.runs.runs.get(caller, run).await?),
            None => None,
        };
        Ok(SessionView { session, run })
    }

    /// Reads a page of events of one of a session's runs: the named one, or the open or latest one.
    pub async fn events(
        &self,
        caller: &Authorized<RunsRead>,
        id: SessionId,
        run: Option<RunId>,
        after: Seq,
        limit: u32,
    ) -> Result<(Option<RunId>, EventPage), ServiceError> {
        let session = self.load(caller, id, "").await?;
        let Some(run) = run.or(session.active_run).or(session.last_run) else {
            return Ok((None, EventPage { entries: Vec::new(), last_seq: Seq::ZERO }));
        };
        if self.runs.runs.load(caller, run).await?.session != id {
            return Err(ServiceError::NOT_FOUND);
        }
        Ok((Some(run), self.runs.events.read_page(run, after, limit).await?))
    }

    /// Records how far a reader has read.
    pub async fn mark_read(
        &self,
        caller: &Authorized<RunsRead>,
        id: SessionId,
        reader: &str,
        version: Option<SessionVersion>,
    ) -> Result<Session, ServiceError> {
        let session = self.load(caller, id, reader).await?;
        let read = version.unwrap_or(session.version);
        let by = Reader { principal: caller.principal, name: reader };
        session_readers::mark_read(&self.deps.store, id, by, read).await?;
        self.load(caller, id, reader).await
    }

    /// Cancels the active command of a session, or else its open run.
    pub async fn cancel(
        &self,
        caller: &Authorized<RunsWrite>,
        id: SessionId,
    ) -> Result<SessionCancellation, ServiceError> {
        let session = self.load(caller, id, "").await?;
        if let Some(command) = session.active_command {
            let cancelled = self.runs.commands.cancel(caller, command).await?;
            return Ok(SessionCancellation::Command(Box::new(cancelled)));
        }
        match session.active_run {
            Some(run) => Ok(SessionCancellation::Run(Box::new(self.runs.runs.cancel(caller, run).await?))),
            None => Ok(SessionCancellation::Nothing),
        }
    }

    /// Returns the tenant of a session, for the edge to load the caller's role in it.
    pub async fn tenant_of(&self, id: SessionId) -> Result<Option<TenantId>, ServiceError> {
        Ok(rows::find_tenant(&self.deps.store, id).await?)
    }

    /// Loads a session through its caller: one of another tenant does not exist.
    pub(crate) async fn load<R: Right>(
        &self,
        caller: &Authorized<R>,
        id: SessionId,
        reader: &str,
    ) -> Result<Session, ServiceError> {
        let reader = Reader { principal: caller.principal, name: reader };
        Ok(caller.load(rows::find(&self.deps.store, id, reader).await?)?)
    }
}
