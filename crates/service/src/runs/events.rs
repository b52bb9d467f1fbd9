//! Events of a run: pages, live streams, erasure.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsErase, RunsRead};
use guildhall_domain::ids::{RunId, TenantId};
use guildhall_domain::journal::Entry;
use guildhall_domain::journal::{Cursor, Gap, Seq};
use guildhall_store::journal;
use guildhall_store::runs as rows;
use serde_json::json;

use super::Runs;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::journal::EntryStream;

/// Events in one page.
const MAX_PAGE_SIZE: u32 = 1_000;

/// A page of events, and the last seq of the stream.
#[derive(Debug, Clone)]
pub struct EventPage {
    pub entries: Vec<Entry>,
    pub last_seq: Seq,
}

/// An open stream of a run's events.
#[derive(Debug)]
pub struct RunStream {
    pub run: RunId,
    pub tenant: TenantId,
    entries: EntryStream,
}

impl RunStream {
    /// Waits for the next event. May be called again after an error; no event is lost.
    pub async fn next(&mut self) -> Result<(Entry, Cursor), ServiceError> {
        self.entries.next().await
    }

    /// Returns why the cursor was unusable and the stream starts from the beginning.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        self.entries.gap()
    }

    /// Returns the seq where history ends, once all of it was returned.
    #[must_use]
    pub fn replayed(&self) -> Option<Seq> {
        self.entries.replayed()
    }
}

/// Reads, follows and erases the events of runs.
#[derive(Debug, Clone)]
pub struct Events {
    runs: Runs,
}

impl Events {
    pub(super) fn new(runs: Runs) -> Self {
        Self { runs }
    }

    /// Reads a page of a run's events.
    pub async fn page(
        &self,
        caller: &Authorized<RunsRead>,
        id: RunId,
        after: Seq,
        limit: u32,
    ) -> Result<EventPage, ServiceError> {
        self.runs.load(caller, id).await?;
        self.read_page(id, after, limit).await
    }

    /// Reads a page of the events of a run that the caller may read.
    pub(crate) async fn read_page(
        &self,
        id: RunId,
        after: Seq,
        limit: u32,
    ) -> Result<EventPage, ServiceError> {
        let (store, stream) = (&self.runs.deps.store, rows::stream(id));
        let entries = journal::page(store, stream, after, limit.clamp(1, MAX_PAGE_SIZE)).await?;
        let last_seq = journal::last_seqs(store, &[stream]).await?.remove(&stream).unwrap_or_default();
        Ok(EventPage { entries, last_seq })
    }

    /// Follows a run from a cursor, or from its beginning. The caller must re-check authority while the stream is open.
    pub async fn follow(
        &self,
        caller: &Authorized<RunsRead>,
        id: RunId,
        cursor: Option<Cursor>,
    ) -> Result<RunStream, ServiceError> {
        let run = self.runs.load(caller, id).await?;
        let deps = &self.runs.deps;
        let entries = EntryStream::open(&deps.store, &deps.journals, rows::stream(id), cursor).await?;
        Ok(RunStream { run: id, tenant: run.tenant, entries })
    }

    /// Erases the payload of an event, for a leaked secret or a person's right. Its seq stays.
    pub async fn erase(
        &self,
        caller: &Authorized<RunsErase>,
        id: RunId,
        seq: Seq,
    ) -> Result<(), ServiceError> {
        self.runs.load(caller, id).await?;
        let mut tx = self.runs.deps.owner_store.begin().await?;
        if !journal::erase(&mut tx, rows::stream(id), seq).await? {
            return Err(ServiceError::NOT_FOUND);
        }
        let detail = json!({ "seq": seq.get() });
        let event = AuditEvent::by_member(caller, "run.event_erased", id.to_string(), detail);
        audit::record(&mut tx, &event).await?;
        Ok(tx.commit().await?)
    }
}
