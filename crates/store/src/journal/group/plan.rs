//! What one group writes, decided from the heads as they were last seen. Pure.

use std::collections::{BTreeMap, HashMap};

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Fence, Head, Journal, Placed, Stream, admit};
use guildhall_domain::runs::fold::Fold;
use uuid::Uuid;

use super::super::Append;
use super::super::folds::{self, Folds};

/// A stream as a lane last saw it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) head: Head,
    /// The folds that were looked for, by scope; none where this binary cannot read one.
    pub(super) folds: HashMap<Uuid, Option<Fold>>,
}

/// The columns of one group statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan<'a> {
    pub(super) heads: Heads,
    pub(super) entries: Entries<'a>,
    pub(super) folds: FoldRows,
    pub(super) leases: Leases,
    /// For each append of the group: its places, or none where it must be appended singly.
    pub(super) placed: Vec<Option<Vec<Placed>>>,
    /// The streams as they will be.
    pub(super) next: BTreeMap<Stream, Next>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) head: Head,
    pub(super) folds: Folds,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FoldRows {
    pub(super) runs: Vec<Uuid>,
    pub(super) scopes: Vec<Uuid>,
    pub(super) folds: Vec<String>,
}

/// Leases to renew: those of the runners that write.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Leases {
    pub(super) runs: Vec<Uuid>,
    pub(super) epochs: Vec<i64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heads {
    pub(super) journals: Vec<i16>,
    pub(super) owners: Vec<Uuid>,
    pub(super) seen: Vec<i64>,
    pub(super) epochs: Vec<i64>,
    pub(super) next: Vec<i64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entries<'a> {
    /// The place of each entry's stream among the heads, counted from 1.
    pub(super) streams: Vec<i32>,
    pub(super) seqs: Vec<i64>,
    pub(super) ids: Vec<Uuid>,
    pub(super) kinds: Vec<&'a str>,
    pub(super) bodies: Vec<&'a str>,
}

impl<'a> Plan<'a> {
    /// Plans a group. Repeats are not looked for: the unique index finds them, and they are then appended singly.
    pub(super) fn new(appends: &[&'a Append], seen: &HashMap<Stream, Seen>) -> Self {
        let mut plan = Self::default();
        let mut streams = Vec::new();
        for append in appends {
            let placed = plan.place(append, seen);
            streams.extend(placed.iter().flatten().map(|_| append.stream));
            plan.placed.push(placed);
        }
        let mut numbers = HashMap::new();
        // In the order in which every writer locks the heads it needs.
        for ((stream, next), number) in plan.next.iter().zip(1..) {
            let Some(Seen { head, .. }) = seen.get(stream) else { continue };
            numbers.insert(*stream, number);
            plan.heads.journals.push(stream.journal.number());
            plan.heads.owners.push(stream.owner);
            plan.heads.seen.push(head.last_seq.get());
            plan.heads.epochs.push(head.epoch.get());
            plan.heads.next.push(next.head.last_seq.get());
            for (scope, fold) in &next.folds {
                plan.folds.runs.push(stream.owner);
                plan.folds.scopes.push(*scope);
                plan.folds.folds.push(fold.write());
            }
        }
        plan.entries.streams = streams.iter().filter_map(|stream| numbers.get(stream).copied()).collect();
        plan
    }

    fn place(&mut self, append: &'a Append, seen: &HashMap<Stream, Seen>) -> Option<Vec<Placed>> {
        let Seen { head, folds: kept } = seen.get(&append.stream)?;
        let scopes = folds::scopes(append);
        if scopes.iter().any(|scope| !matches!(kept.get(scope), Some(Some(_)))) {
            return None;
        }
        let ids: Vec<EntryId> = append.entries.iter().map(|entry| entry.id).collect();
        let head = self.next.get(&append.stream).map_or(*head, |next| next.head);
        // Refused on an old view is not refused: the single append asks again under the lock.
        let admission = admit(head, append.fence, &ids, &BTreeMap::new()).ok()?;
        let next = self.next.entry(append.stream).or_default();
        next.head = admission.head;
        for scope in scopes {
            if let Some(Some(fold)) = kept.get(&scope) {
                next.folds.entry(scope).or_insert_with(|| fold.clone());
            }
        }
        folds::take(&mut next.folds, append, &admission.placed);
        for (placed, entry) in admission.placed.iter().zip(&append.entries) {
            self.entries.seqs.push(placed.seq().get());
            self.entries.ids.push(entry.id.as_uuid());
            self.entries.kinds.push(&entry.kind);
            self.entries.bodies.push(&entry.body);
        }
        self.renew(append);
        Some(admission.placed)
    }

    /// Who writes is alive.
    fn renew(&mut self, append: &Append) {
        if let (Fence::Holder(epoch), Journal::Run) = (append.fence, append.stream.journal)
            && !self.leases.runs.contains(&append.stream.owner)
        {
            self.leases.runs.push(append.stream.owner);
            self.leases.epochs.push(epoch.get());
        }
    }
}
