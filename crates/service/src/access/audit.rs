//! The audit log: every change of authority is appended to the journal in the transaction that makes it.
//!
//! Entries are sealed into a hash chain some time later, by [`super::audit_seal::AuditSeal`].

use std::collections::BTreeMap;

use guildhall_domain::access::audit_chain::EntrySeal;
pub use guildhall_domain::access::audit_checkpoint::AuditLog;
use guildhall_domain::access::audit_checkpoint::Checkpoint;
use guildhall_domain::access::authorized::{Authorized, InstallationOperator};
use guildhall_domain::access::role::Right;
use guildhall_domain::access::role::rights::AuditRead;
use guildhall_domain::ids::{EntryId, PrincipalId};
use guildhall_domain::journal::{Cursor, Fence, Gap, Seq};
use guildhall_identity::audit_key::AuditPublicKey;
use guildhall_store::journal::{self, AppendError, AppendRequest, NewEntry};
use guildhall_store::{Store, StoreError, Tx, journal_checkpoints, journal_seals};
use serde_json::{Value, json};

use guildhall_domain::journal::Entry;

use super::client_address::current_client_address;
use crate::ServiceError;
use crate::journal::{Follower, Journals, StartPosition, read_last_seq};

/// Entries in one page.
pub const MAX_PAGE_SIZE: u32 = 500;

/// Seals that an open stream loads at once.
const SEAL_BATCH_SIZE: i64 = 500;

/// A change of authority. It never holds a secret.
#[derive(Debug, Clone)]
pub struct AuditEvent {
    pub log: AuditLog,
    /// A noun and a verb, such as `key.created`.
    pub action: &'static str,
    /// Who did it; none before anyone was authenticated.
    pub actor: Option<PrincipalId>,
    /// The id of the changed object.
    pub object: String,
    pub detail: Value,
}

impl AuditEvent {
    /// An event that a member of a tenant caused.
    pub(crate) fn by_member<R: Right>(
        caller: &Authorized<R>,
        action: &'static str,
        object: String,
        detail: Value,
    ) -> Self {
        Self { log: AuditLog::Tenant(caller.tenant()), action, actor: Some(caller.principal), object, detail }
    }
}

/// Appends an event within the transaction that it describes.
pub(crate) async fn record(tx: &mut Tx, event: &AuditEvent) -> Result<(), ServiceError> {
    journal::append_new(tx, event.log.stream(), &[entry(event)]).await?;
    Ok(())
}

fn entry(event: &AuditEvent) -> NewEntry {
    let body = json!({
        "actor": event.actor.map(|actor| actor.to_string()),
        "address": current_client_address(),
        "object": event.object,
        "detail": event.detail,
    });
    NewEntry {
        id: EntryId::generate(),
        kind: event.action.into(),
        body: body.to_string(),
        parsed_event: None,
    }
}

/// An entry of a log, and its seal once it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub entry: Entry,
    pub seal: Option<EntrySeal>,
    /// The checkpoint at this entry, if one was signed here.
    pub checkpoint: Option<Checkpoint>,
}

/// Where a page starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageStart {
    After(Seq),
    /// This many entries before the end, but not before a seq.
    FromEnd {
        count: u32,
        after: Seq,
    },
}

/// A page of a log, and the seq to continue after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    pub entries: Vec<AuditEntry>,
    pub next_after: Seq,
}

/// An open stream of a log.
#[derive(Debug)]
pub struct AuditStream {
    pub log: AuditLog,
    start: StartPosition,
    follower: Follower,
    /// Read but not returned yet: `next` may be dropped while it loads the seal.
    pending: Option<Entry>,
    returned_to: Seq,
    seals: Seals,
}

impl AuditStream {
    /// Waits for the next entry and its cursor. May be called again after an error, and is cancel-safe.
    pub async fn next(&mut self) -> Result<(AuditEntry, Cursor), ServiceError> {
        loop {
            if let Some(entry) = self.pending.take_if(|entry| entry.seq <= self.seals.loaded_to) {
                let cursor = Cursor { incarnation: self.start.incarnation, seq: entry.seq };
                self.returned_to = entry.seq;
                return Ok((self.seals.found.take(entry), cursor));
            }
            match &self.pending {
                Some(entry) => self.seals.load(entry.seq).await?,
                None => self.pending = Some(self.follower.next().await?),
            }
        }
    }

    /// Returns why the cursor was unusable and the stream starts from the beginning.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        self.start.gap
    }

    /// Returns the seq where history ends, once all of it was returned.
    #[must_use]
    pub fn replayed(&self) -> Option<Seq> {
        (self.returned_to >= self.start.last).then_some(self.start.last)
    }
}

/// The seals of the next entries of a stream, loaded in batches. Live entries have none yet.
#[derive(Debug)]
struct Seals {
    store: Store,
    log: AuditLog,
    loaded_to: Seq,
    found: SealsInRange,
}

impl Seals {
    async fn load(&mut self, first: Seq) -> Result<(), StoreError> {
        let last = Seq::new(first.get().saturating_add(SEAL_BATCH_SIZE - 1)).unwrap_or(first);
        self.found = SealsInRange::load(&self.store, self.log, first, last).await?;
        self.loaded_to = last;
        Ok(())
    }
}

/// The seals and checkpoints of a range of entries.
#[derive(Debug, Default)]
struct SealsInRange {
    seals: BTreeMap<Seq, EntrySeal>,
    checkpoints: BTreeMap<Seq, Checkpoint>,
}

impl SealsInRange {
    async fn load(store: &Store, log: AuditLog, first: Seq, last: Seq) -> Result<Self, StoreError> {
        let seals = journal_seals::list(store, log.stream(), first, last).await?;
        let checkpoints = journal_checkpoints::list(store, log, first, last).await?;
        Ok(Self {
            seals: seals.into_iter().map(|seal| (seal.seq, seal)).collect(),
            checkpoints: checkpoints.into_iter().map(|point| (point.statement.tip.seq, point)).collect(),
        })
    }

    fn take(&mut self, entry: Entry) -> AuditEntry {
        let seal = self.seals.remove(&entry.seq);
        // An entry may be sealed between the two queries: a checkpoint without a seal would be half of the truth.
        let checkpoint = self.checkpoints.remove(&entry.seq).filter(|_| seal.is_some());
        AuditEntry { entry, seal, checkpoint }
    }
}

/// Reads and follows audit logs.
#[derive(Debug, Clone)]
pub struct Audit {
    pub(crate) store: Store,
    pub(crate) journals: Journals,
    key: Option<AuditPublicKey>,
}

impl Audit {
    #[must_use]
    pub fn new(store: Store, journals: Journals, key: Option<AuditPublicKey>) -> Self {
        Self { store, journals, key }
    }

    /// Returns the key that verifies checkpoints. It is not secret.
    #[must_use]
    pub fn public_key(&self) -> Option<AuditPublicKey> {
        self.key
    }

    /// Reads a page of a tenant's log.
    pub async fn page(
        &self,
        caller: &Authorized<AuditRead>,
        start: PageStart,
        limit: u32,
    ) -> Result<AuditPage, ServiceError> {
        self.read_page(AuditLog::Tenant(caller.tenant()), start, limit).await
    }

    /// Reads a page of the installation's log.
    pub async fn installation_page(
        &self,
        _: &InstallationOperator,
        start: PageStart,
        limit: u32,
    ) -> Result<AuditPage, ServiceError> {
        self.read_page(AuditLog::Installation, start, limit).await
    }

    async fn read_page(
        &self,
        log: AuditLog,
        start: PageStart,
        limit: u32,
    ) -> Result<AuditPage, ServiceError> {
        let (stream, limit) = (log.stream(), limit.clamp(1, MAX_PAGE_SIZE));
        let after = match start {
            PageStart::After(seq) => seq,
            PageStart::FromEnd { count, after } => {
                read_last_seq(&self.store, stream).await?.saturating_sub(count).max(after)
            }
        };
        let entries = journal::page(&self.store, stream, after, limit).await?;
        let [first, ..] = entries.as_slice() else {
            return Ok(AuditPage { entries: Vec::new(), next_after: after });
        };
        let last = entries.last().unwrap_or(first).seq;
        let mut seals = SealsInRange::load(&self.store, log, first.seq, last).await?;
        let with_seal = |entry| seals.take(entry);
        Ok(AuditPage { entries: entries.into_iter().map(with_seal).collect(), next_after: last })
    }

    /// Follows a tenant's log from a cursor, or from its beginning. The caller must re-check authority while it is
    /// open.
    pub async fn follow(
        &self,
        caller: &Authorized<AuditRead>,
        cursor: Option<Cursor>,
    ) -> Result<AuditStream, ServiceError> {
        self.open_stream(AuditLog::Tenant(caller.tenant()), cursor).await
    }

    /// Follows the installation's log. The caller must re-check authority while it is open.
    pub async fn follow_installation(
        &self,
        _: &InstallationOperator,
        cursor: Option<Cursor>,
    ) -> Result<AuditStream, ServiceError> {
        self.open_stream(AuditLog::Installation, cursor).await
    }

    async fn open_stream(&self, log: AuditLog, cursor: Option<Cursor>) -> Result<AuditStream, ServiceError> {
        let stream = log.stream();
        let start = StartPosition::find(&self.store, stream, cursor).await?;
        let after = start.after;
        let seals =
            Seals { store: self.store.clone(), log, loaded_to: after, found: SealsInRange::default() };
        let follower = self.journals.follow(stream, after);
        Ok(AuditStream { log, start, follower, pending: None, returned_to: after, seals })
    }

    /// Appends an event that belongs to no transaction, such as a refused attempt.
    pub async fn append(&self, event: &AuditEvent) -> Result<(), ServiceError> {
        let (stream, entries) = (event.log.stream(), vec![entry(event)]);
        let request = AppendRequest { stream, fence: Fence::Open, entries, quota: None };
        match self.journals.append(request).await {
            Ok(_) => Ok(()),
            Err(AppendError::Store(error)) => Err(error.into()),
            Err(
                AppendError::Rejected(_)
                | AppendError::UnknownCommand(_)
                | AppendError::QuotaExceeded(_)
                | AppendError::Overloaded,
            ) => Err(ServiceError::Overloaded),
        }
    }
}
