//! Rules for appending entries to a stream.

use std::collections::{BTreeMap, BTreeSet};

use super::{Epoch, Seq};
use crate::ids::EntryId;

/// The end of a stream: last sequence number and current epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    pub last_seq: Seq,
    pub epoch: Epoch,
}

/// Decides which writers may append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// Any authorised writer: the stream has no holder.
    Open,
    /// Only the holder of this epoch.
    Holder(Epoch),
}

/// An entry that already exists under the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExistingEntry {
    pub seq: Seq,
    /// Whether the bodies are equal. True for an erased entry, whose body can no longer be compared.
    pub same_body: bool,
}

/// The sequence number of one entry of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendedEntry {
    /// A new entry, stored under this number.
    New(Seq),
    /// A repeat of the entry that is stored under this number.
    Replayed(Seq),
}

impl AppendedEntry {
    #[must_use]
    pub fn seq(self) -> Seq {
        match self {
            Self::New(seq) | Self::Replayed(seq) => seq,
        }
    }
}

/// An accepted append: the new head, and the number of each entry in the given order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendPlan {
    pub head: Head,
    pub entries: Vec<AppendedEntry>,
}

/// Why an append is rejected as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AppendRejection {
    #[error("stale epoch {given}: the stream is now at epoch {current}")]
    StaleEpoch { given: Epoch, current: Epoch },
    #[error("entry {0} already exists with a different body")]
    Conflict(EntryId),
    #[error("entry {0} occurs twice in this append")]
    Duplicate(EntryId),
}

/// Decides on an append. `existing` holds those entries of the append that are already in the stream.
///
/// A writer with a stale epoch is rejected even if all its entries exist: it must learn that it lost the stream.
pub fn plan_append(
    head: Head,
    fence: Fence,
    ids: &[EntryId],
    existing: &BTreeMap<EntryId, ExistingEntry>,
) -> Result<AppendPlan, AppendRejection> {
    match fence {
        Fence::Holder(given) if given != head.epoch => {
            return Err(AppendRejection::StaleEpoch { given, current: head.epoch });
        }
        Fence::Holder(_) | Fence::Open => {}
    }
    let (mut head, mut seen) = (head, BTreeSet::new());
    let mut entries = Vec::with_capacity(ids.len());
    for id in ids {
        if !seen.insert(*id) {
            return Err(AppendRejection::Duplicate(*id));
        }
        entries.push(match existing.get(id) {
            Some(ExistingEntry { same_body: false, .. }) => return Err(AppendRejection::Conflict(*id)),
            Some(ExistingEntry { seq, same_body: true }) => AppendedEntry::Replayed(*seq),
            None => {
                head.last_seq = head.last_seq.next();
                AppendedEntry::New(head.last_seq)
            }
        });
    }
    Ok(AppendPlan { head, entries })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn id(number: u128) -> EntryId {
        EntryId::from_uuid(Uuid::from_u128(number))
    }

    /// An in-memory stream.
    #[derive(Debug, Default)]
    struct Model {
        head: Head,
        log: Vec<(EntryId, u8)>,
    }

    impl Model {
        fn append(
            &mut self,
            fence: Fence,
            entries: &[(EntryId, u8)],
        ) -> Result<Vec<AppendedEntry>, AppendRejection> {
            let existing = entries.iter().filter_map(|(id, body)| {
                let at = self.log.iter().position(|(stored, _)| stored == id)?;
                let seq = Seq::new(i64::try_from(at).expect("small") + 1).expect("positive");
                Some((*id, ExistingEntry { seq, same_body: self.log[at].1 == *body }))
            });
            let ids: Vec<_> = entries.iter().map(|(id, _)| *id).collect();
            let append_plan = plan_append(self.head, fence, &ids, &existing.collect())?;
            for (entry, appended) in entries.iter().zip(&append_plan.entries) {
                if matches!(appended, AppendedEntry::New(_)) {
                    self.log.push(*entry);
                }
            }
            self.head = append_plan.head;
            Ok(append_plan.entries)
        }
    }

    #[test]
    fn same_id_with_equal_body_replays_the_first_number() {
        let mut model = Model::default();
        model.append(Fence::Open, &[(id(1), 7), (id(2), 7)]).expect("new");
        let again = model.append(Fence::Open, &[(id(2), 7), (id(3), 7)]);
        assert_eq!(again, Ok(vec![AppendedEntry::Replayed(Seq(2)), AppendedEntry::New(Seq(3))]));
    }

    #[test]
    fn same_id_with_other_body_rejects_the_whole_append() {
        let mut model = Model::default();
        model.append(Fence::Open, &[(id(1), 7)]).expect("new");
        assert_eq!(
            model.append(Fence::Open, &[(id(2), 7), (id(1), 8)]),
            Err(AppendRejection::Conflict(id(1)))
        );
        assert_eq!(model.log.len(), 1);
    }

    #[test]
    fn stale_holder_is_rejected_even_for_existing_entries() {
        let mut model = Model::default();
        model.append(Fence::Holder(Epoch(0)), &[(id(1), 7)]).expect("held");
        model.head.epoch = Epoch(1);
        let late = model.append(Fence::Holder(Epoch(0)), &[(id(1), 7)]);
        assert_eq!(late, Err(AppendRejection::StaleEpoch { given: Epoch(0), current: Epoch(1) }));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Append { fence: Option<i64>, entries: Vec<(u128, u8)> },
        TakeOver,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let entries = proptest::collection::vec((0u128..30, 0u8..2), 0..5);
        let append = (proptest::option::of(0i64..4), entries)
            .prop_map(|(fence, entries)| Step::Append { fence, entries });
        proptest::collection::vec(prop_oneof![9 => append, 1 => Just(Step::TakeOver)], 0..60)
    }

    proptest! {
        #[test]
        fn random_appends_cause_no_gap_no_duplicate_and_no_stale_write(steps in steps()) {
            let mut model = Model::default();
            for step in steps {
                let before = model.log.clone();
                match step {
                    Step::TakeOver => model.head.epoch = model.head.epoch.next(),
                    Step::Append { fence, entries } => {
                        let fence = fence.map_or(Fence::Open, |epoch| Fence::Holder(Epoch(epoch)));
                        let held = match fence { Fence::Open => true, Fence::Holder(given) => given == model.head.epoch };
                        let entries: Vec<_> = entries.into_iter().map(|(number, body)| (id(number), body)).collect();
                        match model.append(fence, &entries) {
                            Ok(appended) => {
                                prop_assert!(held);
                                for ((id, body), appended) in entries.iter().zip(appended) {
                                    let at = usize::try_from(appended.seq().get() - 1).expect("positive");
                                    prop_assert_eq!(model.log[at], (*id, *body));
                                }
                            }
                            Err(_) => prop_assert_eq!(&model.log, &before),
                        }
                    }
                }
                prop_assert!(model.log.starts_with(&before), "existing entries must not change");
                let ids: BTreeSet<_> = model.log.iter().map(|(id, _)| id).collect();
                prop_assert_eq!(ids.len(), model.log.len());
                prop_assert_eq!(usize::try_from(model.head.last_seq.get()).expect("positive"), model.log.len());
            }
        }
    }
}
