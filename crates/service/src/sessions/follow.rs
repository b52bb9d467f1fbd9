//! Follows a session: the events of all its runs, one run after the other.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::ids::{RunId, SessionId, TenantId};
use guildhall_domain::journal::Entry;
use guildhall_domain::journal::{Gap, Incarnation, Seq, SessionCursor, SessionPosition};
use guildhall_domain::sessions::Session;
use guildhall_store::{Store, StoreError, journal as entries, runs as rows, schema_state, sessions};

use super::Sessions;
use crate::ServiceError;
use crate::journal::{Follower, Journals, read_last_seq};

/// An event of a session, its run, and the cursor to continue after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEvent {
    pub run: RunId,
    pub entry: Entry,
    pub cursor: SessionCursor,
}

/// An open stream of a session's events.
#[derive(Debug)]
pub struct SessionStream {
    pub session: SessionId,
    pub tenant: TenantId,
    incarnation: Incarnation,
    gap: Option<Gap>,
    /// The end of the session when the stream was opened: history up to here.
    history: SessionPosition,
    at: SessionPosition,
    store: Store,
    journals: Journals,
    /// The runs of the session, as they are created.
    created_runs: Follower,
    /// The run after the current one, once it was created.
    next: Option<Entry>,
    current: Option<CurrentRun>,
}

/// The run whose events are read.
#[derive(Debug)]
struct CurrentRun {
    run: RunId,
    ordinal: i32,
    events: Follower,
    /// Its last seq, once it has ended.
    ends: Option<Seq>,
}

impl SessionStream {
    /// Waits for the next event. May be called again after an error, and is cancel-safe.
    pub async fn next(&mut self) -> Result<SessionEvent, ServiceError> {
        loop {
            let Some(current) = &mut self.current else {
                let created = match self.next.take() {
                    Some(created) => created,
                    None => self.created_runs.next().await?,
                };
                self.current = Some(self.open_run(&created));
                continue;
            };
            if current.ends.is_some_and(|ends| current.events.position() >= ends) {
                self.current = None;
                continue;
            }
            // A session has at most one open run: once the next is created, this one has its last event.
            if self.next.is_some() && current.ends.is_none() {
                current.ends = Some(read_last_seq(&self.store, rows::stream(current.run)).await?);
                continue;
            }
            tokio::select! {
                entry = current.events.next() => {
                    let entry = entry?;
                    self.at = SessionPosition { ordinal: current.ordinal, seq: entry.seq };
                    let cursor = SessionCursor { incarnation: self.incarnation, position: self.at };
                    return Ok(SessionEvent { run: current.run, entry, cursor });
                }
                created = self.created_runs.next(), if self.next.is_none() => self.next = Some(created?),
            }
        }
    }

    fn open_run(&self, created: &Entry) -> CurrentRun {
        let (run, ordinal) = (RunId::from_uuid(created.id.as_uuid()), ordinal(created.seq));
        let after = if ordinal == self.at.ordinal { self.at.seq } else { Seq::ZERO };
        CurrentRun { run, ordinal, events: self.journals.follow(rows::stream(run), after), ends: None }
    }

    /// Returns why the cursor was unusable and the stream starts from the beginning.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        self.gap
    }

    /// Returns the place where history ends, once all of it was returned.
    #[must_use]
    pub fn replayed(&self) -> Option<SessionPosition> {
        (self.at >= self.history).then_some(self.history)
    }
}

impl Sessions {
    /// Follows a session from a cursor, or from its beginning. The caller must re-check authority while it is open.
    pub async fn follow(
        &self,
        caller: &Authorized<RunsRead>,
        id: SessionId,
        cursor: Option<SessionCursor>,
    ) -> Result<SessionStream, ServiceError> {
        let session = self.load(caller, id, "").await?;
        let incarnation = schema_state::incarnation(&self.deps.store).await?;
        let history = self.end_of_session(id).await?;
        let resumed = match cursor {
            None => Ok(SessionPosition::default()),
            Some(cursor) => {
                let last = self.end_of_run_at(id, cursor.position.ordinal).await?;
                cursor.resume(incarnation, last)
            }
        };
        let (at, gap) = match resumed {
            Ok(at) => (at, None),
            Err(gap) => (SessionPosition::default(), Some(gap)),
        };
        Ok(self.stream(&session, incarnation, history, at, gap))
    }

    /// Follows a session from a place that the server has stored.
    pub async fn follow_from(
        &self,
        caller: &Authorized<RunsRead>,
        id: SessionId,
        at: SessionPosition,
    ) -> Result<SessionStream, ServiceError> {
        let session = self.load(caller, id, "").await?;
        let incarnation = schema_state::incarnation(&self.deps.store).await?;
        let history = self.end_of_session(id).await?;
        Ok(self.stream(&session, incarnation, history, at, None))
    }

    fn stream(
        &self,
        session: &Session,
        incarnation: Incarnation,
        history: SessionPosition,
        at: SessionPosition,
        gap: Option<Gap>,
    ) -> SessionStream {
        let id = session.id;
        let before = Seq::new(i64::from(at.ordinal) - 1).unwrap_or_default();
        let created_runs = self.deps.journals.follow(sessions::stream(id), before);
        let (store, journals) = (self.deps.store.clone(), self.deps.journals.clone());
        let (tenant, session) = (session.tenant, id);
        SessionStream {
            session,
            tenant,
            incarnation,
            gap,
            history,
            at,
            store,
            journals,
            created_runs,
            next: None,
            current: None,
        }
    }

    /// Returns the current end of a session.
    async fn end_of_session(&self, id: SessionId) -> Result<SessionPosition, StoreError> {
        let ordinal = ordinal(read_last_seq(&self.deps.store, sessions::stream(id)).await?);
        let seq = self.end_of_run_at(id, ordinal).await?.unwrap_or_default();
        Ok(SessionPosition { ordinal, seq })
    }

    /// Returns the current end of the run with an ordinal; none where the session has no such run.
    async fn end_of_run_at(&self, id: SessionId, ordinal: i32) -> Result<Option<Seq>, StoreError> {
        let before = Seq::new(i64::from(ordinal) - 1).unwrap_or_default();
        let found = entries::page(&self.deps.store, sessions::stream(id), before, 1).await?;
        match found.first().filter(|created| created.seq.get() == i64::from(ordinal)) {
            Some(created) => Ok(Some(
                read_last_seq(&self.deps.store, rows::stream(RunId::from_uuid(created.id.as_uuid()))).await?,
            )),
            None => Ok(None),
        }
    }
}

/// The seqs of a session's stream are the ordinals of its runs.
fn ordinal(seq: Seq) -> i32 {
    i32::try_from(seq.get()).unwrap_or(i32::MAX)
}
