//! Sessions as their readers see them.

pub mod storage;
pub mod storage_reconcile;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{RunId, SessionId, TenantId};
use guildhall_domain::journal::Seq;
use guildhall_domain::sessions::Version;
use guildhall_store::sessions::{self as rows, Reader};
pub use guildhall_store::sessions::{Filter, Session};

use crate::ServiceError;
use crate::runs::{EventPage, RunView, Runs};

/// Sessions in one list.
const SESSIONS_AT_MOST: u32 = 200;

/// A session, with the run that is open or was last.
#[derive(Debug, Clone)]
pub struct SessionView {
    pub session: Session,
    pub run: Option<RunView>,
}

/// What controlling a session did.
#[derive(Debug, Clone)]
pub enum Controlled {
    Command(Box<guildhall_store::commands::Command>),
    Run(Box<RunView>),
    /// Nothing of it was open.
    Nothing,
}

impl Runs {
    /// Lists the sessions of the tenants that the caller belongs to.
    pub async fn sessions(
        &self,
        caller: &Caller,
        reader: &str,
        filter: &Filter<'_>,
        limit: u32,
    ) -> Result<Vec<Session>, ServiceError> {
        let reader = Reader { principal: caller.principal, name: reader };
        Ok(rows::list(&self.store, reader, filter, limit.clamp(1, SESSIONS_AT_MOST)).await?)
    }

    pub async fn session(
        &self,
        caller: &Caller,
        id: SessionId,
        reader: &str,
    ) -> Result<SessionView, ServiceError> {
        let session = self.load_session(caller, id, reader, Right::RunsRead).await?;
        let run = match session.active_run.or(session.last_run) {
            Some(run) => Some(self.show(caller, run).await?),
            None => None,
        };
        Ok(SessionView { session, run })
    }

    /// Reads a page of the events of one of a session's runs: the one named, or the open or last one.
    pub async fn session_events(
        &self,
        caller: &Caller,
        id: SessionId,
        run: Option<RunId>,
        after: Seq,
        limit: u32,
    ) -> Result<(Option<RunId>, EventPage), ServiceError> {
        let session = self.load_session(caller, id, "", Right::RunsRead).await?;
        let Some(run) = run.or(session.active_run).or(session.last_run) else {
            return Ok((None, EventPage { entries: Vec::new(), last_seq: Seq::ZERO }));
        };
        if self.load(caller, run, Right::RunsRead).await?.session != id {
            return Err(ServiceError::NOT_FOUND);
        }
        Ok((Some(run), self.event_page(run, after, limit).await?))
    }

    /// Notes how far a reader has read.
    pub async fn mark_read(
        &self,
        caller: &Caller,
        id: SessionId,
        reader: &str,
        version: Option<Version>,
    ) -> Result<Session, ServiceError> {
        let session = self.load_session(caller, id, reader, Right::RunsRead).await?;
        let read = version.unwrap_or(session.version);
        let by = Reader { principal: caller.principal, name: reader };
        rows::mark_read(&self.store, id, by, read).await?;
        self.load_session(caller, id, reader, Right::RunsRead).await
    }

    /// Cancels what is at work in a session: the active command, or else the open run.
    pub async fn cancel_session(&self, caller: &Caller, id: SessionId) -> Result<Controlled, ServiceError> {
        let session = self.load_session(caller, id, "", Right::RunsWrite).await?;
        if let Some(command) = session.active_command {
            return Ok(Controlled::Command(Box::new(self.cancel_command(caller, command).await?)));
        }
        match session.active_run {
            Some(run) => Ok(Controlled::Run(Box::new(self.cancel(caller, run).await?))),
            None => Ok(Controlled::Nothing),
        }
    }

    /// Returns the tenant that a session belongs to, for the edge to load the caller's role in it.
    pub async fn tenant_of_session(&self, id: SessionId) -> Result<Option<TenantId>, ServiceError> {
        Ok(rows::tenant_of(&self.store, id).await?)
    }

    pub(crate) async fn load_session(
        &self,
        caller: &Caller,
        id: SessionId,
        reader: &str,
        right: Right,
    ) -> Result<Session, ServiceError> {
        let reader = Reader { principal: caller.principal, name: reader };
        let found = rows::find(&self.store, id, reader).await?.ok_or(ServiceError::NOT_FOUND)?;
        caller.acting(found.tenant)?.require(right)?;
        Ok(found)
    }
}
