//! What one group writes, decided from the heads as they were last seen. Pure.

use std::collections::{BTreeMap, HashMap};

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Head, Placed, Stream, admit};
use uuid::Uuid;

use super::super::Append;

/// The columns of one group statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan<'a> {
    pub(super) heads: Heads,
    pub(super) entries: Entries<'a>,
    /// For each append of the group: its places, or none where it must be appended singly.
    pub(super) placed: Vec<Option<Vec<Placed>>>,
    /// The heads as they will be.
    pub(super) next: HashMap<Stream, Head>,
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
    pub(super) journals: Vec<i16>,
    pub(super) owners: Vec<Uuid>,
    pub(super) seqs: Vec<i64>,
    pub(super) ids: Vec<Uuid>,
    pub(super) kinds: Vec<&'a str>,
    pub(super) bodies: Vec<&'a str>,
}

impl<'a> Plan<'a> {
    /// Plans a group. Repeats are not looked for: the unique index finds them, and they are then appended singly.
    pub(super) fn new(appends: impl Iterator<Item = &'a Append>, seen: &HashMap<Stream, Head>) -> Self {
        let mut plan = Self::default();
        for append in appends {
            let placed = plan.place(append, seen);
            plan.placed.push(placed);
        }
        let mut moving: Vec<(&Stream, &Head)> = plan.next.iter().collect();
        // Every writer locks the heads it needs in this order.
        moving.sort_by_key(|(stream, _)| (stream.journal.number(), stream.owner));
        for (stream, next) in moving {
            let Some(head) = seen.get(stream) else { continue };
            plan.heads.journals.push(stream.journal.number());
            plan.heads.owners.push(stream.owner);
            plan.heads.seen.push(head.last_seq.get());
            plan.heads.epochs.push(head.epoch.get());
            plan.heads.next.push(next.last_seq.get());
        }
        plan
    }

    fn place(&mut self, append: &'a Append, seen: &HashMap<Stream, Head>) -> Option<Vec<Placed>> {
        let head = *self.next.get(&append.stream).or_else(|| seen.get(&append.stream))?;
        let ids: Vec<EntryId> = append.entries.iter().map(|entry| entry.id).collect();
        // Refused on an old view is not refused: the single append asks again under the lock.
        let admission = admit(head, append.fence, &ids, &BTreeMap::new()).ok()?;
        for (placed, entry) in admission.placed.iter().zip(&append.entries) {
            self.entries.journals.push(append.stream.journal.number());
            self.entries.owners.push(append.stream.owner);
            self.entries.seqs.push(placed.seq().get());
            self.entries.ids.push(entry.id.as_uuid());
            self.entries.kinds.push(&entry.kind);
            self.entries.bodies.push(&entry.body);
        }
        self.next.insert(append.stream, admission.head);
        Some(admission.placed)
    }
}
