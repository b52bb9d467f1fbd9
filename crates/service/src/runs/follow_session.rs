//! Following a session: the events of all its runs, one run after the other, as long as there are runs to come.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{RunId, SessionId, TenantId};
use guildhall_domain::journal::{Gap, Incarnation, Place, Seq, SessionCursor};
use guildhall_store::journal::Entry;
use guildhall_store::{Store, StoreError, journal as entries, runs as rows, schema_state, sessions};

use super::Runs;
use crate::ServiceError;
use crate::journal::{Follower, Journals, end};

/// An event of a session, the run that it belongs to, and the cursor to go on after it.
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
    /// Where the session ended when the stream was opened: up to here it is history.
    history: Place,
    at: Place,
    store: Store,
    journals: Journals,
    /// The runs of the session, as they begin.
    begun: Follower,
    /// The run after the one that is read, once it has begun.
    next: Option<Entry>,
    open: Option<Open>,
}

/// The run that is read.
#[derive(Debug)]
struct Open {
    run: RunId,
    ordinal: i32,
    events: Follower,
    /// Where it ends, once it has.
    ends: Option<Seq>,
}

impl SessionStream {
    /// Waits for the next event. May be asked again after an error, and after it was dropped while it waited.
    pub async fn next(&mut self) -> Result<SessionEvent, ServiceError> {
        loop {
            let Some(open) = &mut self.open else {
                let begun = match self.next.take() {
                    Some(begun) => begun,
                    None => self.begun.next().await?,
                };
                self.open = Some(self.begin(&begun));
                continue;
            };
            if open.ends.is_some_and(|ends| open.events.position() >= ends) {
                self.open = None;
                continue;
            }
            // One run of a session is open at most: when the next has begun, this one has its last event.
            if self.next.is_some() && open.ends.is_none() {
                open.ends = Some(end(&self.store, rows::stream(open.run)).await?);
                continue;
            }
            tokio::select! {
                entry = open.events.next() => {
                    let entry = entry?;
                    self.at = Place { ordinal: open.ordinal, seq: entry.seq };
                    let cursor = SessionCursor { incarnation: self.incarnation, place: self.at };
                    return Ok(SessionEvent { run: open.run, entry, cursor });
                }
                begun = self.begun.next(), if self.next.is_none() => self.next = Some(begun?),
            }
        }
    }

    fn begin(&self, begun: &Entry) -> Open {
        let (run, ordinal) = (RunId::from_uuid(begun.id.as_uuid()), ordinal(begun.seq));
        let after = if ordinal == self.at.ordinal { self.at.seq } else { Seq::ZERO };
        Open { run, ordinal, events: self.journals.follow(rows::stream(run), after), ends: None }
    }

    /// Returns why the reader's cursor led nowhere, and the session begins anew.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        self.gap
    }

    /// Returns where history ended, once all of it was handed out.
    #[must_use]
    pub fn replayed(&self) -> Option<Place> {
        (self.at >= self.history).then_some(self.history)
    }
}

impl Runs {
    /// Follows a session from a cursor, or from its beginning. The caller's authority must be looked at again meanwhile.
    pub async fn follow_session(
        &self,
        caller: &Caller,
        id: SessionId,
        cursor: Option<SessionCursor>,
    ) -> Result<SessionStream, ServiceError> {
        let session = self.load_session(caller, id, "", Right::RunsRead).await?;
        let incarnation = schema_state::incarnation(&self.store).await?;
        let history = self.end_of_session(id).await?;
        let resumed = match cursor {
            None => Ok(Place::default()),
            Some(cursor) => {
                let last = self.end_of_run_at(id, cursor.place.ordinal).await?;
                cursor.resume(incarnation, last)
            }
        };
        let (at, gap) = match resumed {
            Ok(at) => (at, None),
            Err(gap) => (Place::default(), Some(gap)),
        };
        let before = Seq::new(i64::from(at.ordinal) - 1).unwrap_or_default();
        let begun = self.journals.follow(sessions::stream(id), before);
        let (store, journals) = (self.store.clone(), self.journals.clone());
        let (tenant, session) = (session.tenant, id);
        Ok(SessionStream {
            session,
            tenant,
            incarnation,
            gap,
            history,
            at,
            store,
            journals,
            begun,
            next: None,
            open: None,
        })
    }

    /// Returns where a session ends now.
    async fn end_of_session(&self, id: SessionId) -> Result<Place, StoreError> {
        let ordinal = ordinal(end(&self.store, sessions::stream(id)).await?);
        let seq = self.end_of_run_at(id, ordinal).await?.unwrap_or_default();
        Ok(Place { ordinal, seq })
    }

    /// Returns where the run of a number ends now; none where a session has no such run.
    async fn end_of_run_at(&self, id: SessionId, ordinal: i32) -> Result<Option<Seq>, StoreError> {
        let before = Seq::new(i64::from(ordinal) - 1).unwrap_or_default();
        let found = entries::page(&self.store, sessions::stream(id), before, 1).await?;
        match found.first().filter(|begun| begun.seq.get() == i64::from(ordinal)) {
            Some(begun) => {
                Ok(Some(end(&self.store, rows::stream(RunId::from_uuid(begun.id.as_uuid()))).await?))
            }
            None => Ok(None),
        }
    }
}

/// A session's seqs are the numbers of its runs, which are that small.
fn ordinal(seq: Seq) -> i32 {
    i32::try_from(seq.get()).unwrap_or(i32::MAX)
}
