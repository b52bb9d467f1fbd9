//! Plans what one group writes, from the cached heads. Pure.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{AppendedEntry, Fence, Head, Journal, Stream, plan_append};
use guildhall_domain::runs::fold::Fold;
use uuid::Uuid;

use crate::journal::folds::{self, Folds, Scope};
use crate::journal::request::AppendRequest;

/// A stream as the lane last read or wrote it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CachedStream {
    pub(super) head: Head,
    /// The folds by scope; `None` for a fold in an unknown format.
    pub(super) folds: HashMap<Uuid, Option<Fold>>,
}

/// The columns of one group statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan<'a> {
    pub(super) heads: HeadColumns,
    pub(super) entries: EntryColumns<'a>,
    pub(super) folds: FoldColumns,
    pub(super) leases: LeaseColumns,
    /// For each append of the group: its positions, or `None` if it must be appended alone.
    pub(super) results: Vec<Option<Vec<AppendedEntry>>>,
    /// The streams after the group.
    pub(super) next: BTreeMap<Stream, PlannedStream>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PlannedStream {
    pub(super) head: Head,
    pub(super) folds: Folds,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FoldColumns {
    pub(super) runs: Vec<Uuid>,
    pub(super) scopes: Vec<Uuid>,
    pub(super) folds: Vec<String>,
}

/// LeaseColumns to renew.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LeaseColumns {
    pub(super) runs: Vec<Uuid>,
    pub(super) epochs: Vec<i64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HeadColumns {
    pub(super) journals: Vec<i16>,
    pub(super) owners: Vec<Uuid>,
    pub(super) expected: Vec<i64>,
    pub(super) epochs: Vec<i64>,
    pub(super) next: Vec<i64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EntryColumns<'a> {
    /// The index of each entry's stream in the heads, starting at 1.
    pub(super) streams: Vec<i32>,
    pub(super) seqs: Vec<i64>,
    pub(super) ids: Vec<Uuid>,
    pub(super) kinds: Vec<&'a str>,
    pub(super) bodies: Vec<Cow<'a, str>>,
}

impl<'a> Plan<'a> {
    /// Plans a group. Repeated entries are not checked here: the unique index rejects them, and they are appended
    /// alone.
    pub(super) fn new(appends: &[&'a AppendRequest], cache: &HashMap<Stream, CachedStream>) -> Self {
        let mut plan = Self::default();
        let mut streams = Vec::new();
        for append in appends {
            let appended = plan.add(append, cache);
            streams.extend(appended.iter().flatten().map(|_| append.stream));
            plan.results.push(appended);
        }
        let mut numbers = HashMap::new();
        // Sorted by stream: every writer locks heads in this order.
        for ((stream, next), number) in plan.next.iter().zip(1..) {
            let Some(CachedStream { head, .. }) = cache.get(stream) else { continue };
            numbers.insert(*stream, number);
            plan.heads.journals.push(stream.journal.number());
            plan.heads.owners.push(stream.owner);
            plan.heads.expected.push(head.last_seq.get());
            plan.heads.epochs.push(head.epoch.get());
            plan.heads.next.push(next.head.last_seq.get());
            for (scope, fold) in &next.folds {
                plan.folds.runs.push(stream.owner);
                plan.folds.scopes.push(*scope);
                plan.folds.folds.push(fold.to_json());
            }
        }
        plan.entries.streams = streams.iter().filter_map(|stream| numbers.get(stream).copied()).collect();
        plan
    }

    /// Adds an append to the plan. Returns `None` if it must be appended alone.
    fn add(
        &mut self,
        append: &'a AppendRequest,
        cache: &HashMap<Stream, CachedStream>,
    ) -> Option<Vec<AppendedEntry>> {
        let CachedStream { head, folds: cached } = cache.get(&append.stream)?;
        let scopes = folds::scopes(append);
        if scopes
            .iter()
            .any(|scope| !matches!(cached.get(scope), Some(Some(fold)) if may_be_written(append, fold)))
        {
            return None;
        }
        let ids: Vec<EntryId> = append.entries.iter().map(|entry| entry.id).collect();
        let head = self.next.get(&append.stream).map_or(*head, |next| next.head);
        // A rejection based on a stale cache is not final: the single append decides again under the lock.
        let plan = plan_append(head, append.fence, &ids, &BTreeMap::new()).ok()?;
        let run = Scope::Run.as_uuid();
        let run_fold = self.next.get(&append.stream).and_then(|next| next.folds.get(&run));
        if !folds::fits(append, run_fold.or_else(|| cached.get(&run)?.as_ref())) {
            return None;
        }
        let next = self.next.entry(append.stream).or_default();
        next.head = plan.head;
        for scope in scopes {
            if let Some(Some(fold)) = cached.get(&scope) {
                next.folds.entry(scope).or_insert_with(|| fold.clone());
            }
        }
        let late = folds::apply(&mut next.folds, append, &plan.entries);
        for ((appended, entry), late) in plan.entries.iter().zip(&append.entries).zip(late) {
            self.entries.seqs.push(appended.seq().get());
            self.entries.ids.push(entry.id.as_uuid());
            self.entries.kinds.push(&entry.kind);
            self.entries.bodies.push(entry.stored_body(late));
        }
        self.renew_lease(append);
        Some(plan.entries)
    }

    /// Adds the lease of a runner that writes, because a write proves that it is alive.
    fn renew_lease(&mut self, append: &AppendRequest) {
        if let (Fence::Holder(epoch), Journal::Run) = (append.fence, append.stream.journal)
            && !self.leases.runs.contains(&append.stream.owner)
        {
            self.leases.runs.push(append.stream.owner);
            self.leases.epochs.push(epoch.get());
        }
    }
}

/// Returns whether a group may write a fold. A runner's first event in a scope is appended alone, because the cache does
/// not tell a command without events from an unknown one.
fn may_be_written(append: &AppendRequest, fold: &Fold) -> bool {
    match append.fence {
        Fence::Open => true,
        Fence::Holder(_) => fold.events > 0,
    }
}
