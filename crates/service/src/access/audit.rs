//! The audit log: every change of authority, in the journal, in the same transaction as the change.
//!
//! Entries are sealed into a hash chain some time after they were written, by [`super::audit_seal::AuditSeal`].

use std::collections::BTreeMap;

use guildhall_domain::access::audit_chain::Seal;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{EntryId, PrincipalId, TenantId};
use guildhall_domain::journal::{Cursor, Fence, Gap, Journal, Seq, Stream};
use guildhall_store::journal::{self, Append, AppendError, NewEntry};
use guildhall_store::{Store, StoreError, Tx, journal_seals};
use serde_json::{Value, json};
use uuid::Uuid;

pub use guildhall_store::journal::Entry;

use crate::ServiceError;
use crate::journal::{Follower, Journals, Opening, end};

/// Entries in one page.
pub const PAGE_AT_MOST: u32 = 500;

/// Numbers whose seals an open log looks for at once.
const SEALS_AT_ONCE: i64 = 500;

/// Whose log an entry stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// What concerns no tenant: sign-ins, users, tenants made.
    Installation,
    Tenant(TenantId),
}

impl Of {
    fn stream(self) -> Stream {
        let owner = match self {
            Self::Installation => Uuid::nil(),
            Self::Tenant(tenant) => tenant.as_uuid(),
        };
        Stream { journal: Journal::Audit, owner }
    }
}

/// Something that happened to authority. It never holds a secret.
#[derive(Debug, Clone)]
pub struct Event {
    pub of: Of,
    /// A noun and a verb, such as `key.created`.
    pub action: &'static str,
    /// Who did it; none where nobody was known yet.
    pub actor: Option<PrincipalId>,
    /// What it was done to.
    pub object: String,
    pub detail: Value,
}

/// Writes an event within the transaction that it describes.
pub(crate) async fn record(tx: &mut Tx, event: &Event) -> Result<(), ServiceError> {
    match journal::append(tx, &append(event)).await {
        Ok(_) => Ok(()),
        Err(AppendError::Store(error)) => Err(error.into()),
        // A fresh id in an open stream is neither refused nor queued.
        Err(AppendError::Refused(_) | AppendError::Overloaded) => Err(ServiceError::Overloaded),
    }
}

fn append(event: &Event) -> Append {
    let body = json!({
        "actor": event.actor.map(|actor| actor.to_string()),
        "object": event.object,
        "detail": event.detail,
    });
    let entry =
        NewEntry { id: EntryId::generate(), kind: event.action.into(), body: body.to_string(), mark: None };
    Append { stream: event.of.stream(), fence: Fence::Open, entries: vec![entry] }
}

/// An entry of a log, and its seal once it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub entry: Entry,
    pub seal: Option<Seal>,
}

/// Where a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    After(Seq),
    /// So many entries before the end, 0 being the end itself, but not before a number.
    FromEnd {
        count: u32,
        after: Seq,
    },
}

/// Some entries of a log, in order, and the number to go on after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub entries: Vec<AuditEntry>,
    pub next_after: Seq,
}

/// An open log.
#[derive(Debug)]
pub struct AuditStream {
    pub tenant: TenantId,
    opening: Opening,
    follower: Follower,
    /// Read, and not handed out yet: whoever asks may go away while its seal is looked for.
    pending: Option<Entry>,
    handed_out: Seq,
    seals: Seals,
}

impl AuditStream {
    /// Waits for the next entry, with the cursor to go on after it. May be asked again after an error, and after it
    /// was dropped while it waited.
    pub async fn next(&mut self) -> Result<(AuditEntry, Cursor), ServiceError> {
        loop {
            if let Some(entry) = self.pending.take_if(|entry| entry.seq <= self.seals.looked_to) {
                let cursor = Cursor { incarnation: self.opening.incarnation, seq: entry.seq };
                let seal = self.seals.found.remove(&entry.seq);
                self.handed_out = entry.seq;
                return Ok((AuditEntry { entry, seal }, cursor));
            }
            match &self.pending {
                Some(entry) => self.seals.look(entry.seq).await?,
                None => self.pending = Some(self.follower.next().await?),
            }
        }
    }

    /// Returns why the reader's cursor led nowhere, and the log begins anew.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        self.opening.gap
    }

    /// Returns where history ended, once all of it was handed out.
    #[must_use]
    pub fn replayed(&self) -> Option<Seq> {
        (self.handed_out >= self.opening.last).then_some(self.opening.last)
    }
}

/// The seals of what an open log hands out next. They are looked for many at a time, when the log comes to entries
/// that were not looked for: those that are live then have none yet.
#[derive(Debug)]
struct Seals {
    store: Store,
    stream: Stream,
    looked_to: Seq,
    found: BTreeMap<Seq, Seal>,
}

impl Seals {
    async fn look(&mut self, first: Seq) -> Result<(), StoreError> {
        let last = Seq::new(first.get().saturating_add(SEALS_AT_ONCE - 1)).unwrap_or(first);
        self.found = seals(&self.store, self.stream, first, last).await?;
        self.looked_to = last;
        Ok(())
    }
}

async fn seals(
    store: &Store,
    stream: Stream,
    first: Seq,
    last: Seq,
) -> Result<BTreeMap<Seq, Seal>, StoreError> {
    let seals = journal_seals::range(store, stream, first, last).await?;
    Ok(seals.into_iter().map(|seal| (seal.seq, seal)).collect())
}

/// Reads and follows audit logs.
#[derive(Debug, Clone)]
pub struct Audit {
    pub(crate) store: Store,
    pub(crate) journals: Journals,
}

impl Audit {
    #[must_use]
    pub fn new(store: Store, journals: Journals) -> Self {
        Self { store, journals }
    }

    /// Reads a page of a log: of a tenant, or of the installation, for those who operate it.
    pub async fn page(
        &self,
        caller: &Caller,
        of: Of,
        begin: Begin,
        limit: u32,
    ) -> Result<Page, ServiceError> {
        match of {
            Of::Installation => caller.require_operator()?,
            Of::Tenant(tenant) => caller.acting(tenant)?.require(Right::AuditRead)?,
        }
        let (stream, limit) = (of.stream(), limit.clamp(1, PAGE_AT_MOST));
        let after = match begin {
            Begin::After(seq) => seq,
            Begin::FromEnd { count, after } => end(&self.store, stream).await?.back(count).max(after),
        };
        let entries = journal::page(&self.store, stream, after, limit).await?;
        let [first, ..] = entries.as_slice() else {
            return Ok(Page { entries: Vec::new(), next_after: after });
        };
        let last = entries.last().unwrap_or(first).seq;
        let mut seals = seals(&self.store, stream, first.seq, last).await?;
        let with_seal = |entry: Entry| AuditEntry { seal: seals.remove(&entry.seq), entry };
        Ok(Page { entries: entries.into_iter().map(with_seal).collect(), next_after: last })
    }

    /// Follows a tenant's log from a cursor, or from its beginning. The caller's authority must be looked at again
    /// while it runs.
    pub async fn follow(
        &self,
        caller: &Caller,
        tenant: TenantId,
        cursor: Option<Cursor>,
    ) -> Result<AuditStream, ServiceError> {
        caller.acting(tenant)?.require(Right::AuditRead)?;
        let stream = Of::Tenant(tenant).stream();
        let opening = Opening::find(&self.store, stream, cursor).await?;
        let after = opening.after;
        let seals = Seals { store: self.store.clone(), stream, looked_to: after, found: BTreeMap::new() };
        let follower = self.journals.follow(stream, after);
        Ok(AuditStream { tenant, opening, follower, pending: None, handed_out: after, seals })
    }

    /// Returns whether a caller may read a tenant's log now.
    #[must_use]
    pub fn may_read(caller: &Caller, tenant: TenantId) -> bool {
        caller.acting(tenant).and_then(|acting| acting.require(Right::AuditRead)).is_ok()
    }

    /// Notes an attempt that was refused before anything was done.
    pub async fn note(&self, event: &Event) -> Result<(), ServiceError> {
        match self.journals.append(append(event)).await {
            Ok(_) => Ok(()),
            Err(AppendError::Store(error)) => Err(error.into()),
            Err(AppendError::Refused(_) | AppendError::Overloaded) => Err(ServiceError::Overloaded),
        }
    }
}
