//! The one rule of appending.

use std::collections::{BTreeMap, BTreeSet};

use super::{Epoch, Seq};
use crate::ids::EntryId;

/// The head of a stream: all that is needed to decide on an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    pub last_seq: Seq,
    pub epoch: Epoch,
}

/// Who may append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// Anyone who got this far: the stream has no holder.
    Open,
    /// Only the holder of this epoch.
    Holder(Epoch),
}

/// An entry that was appended before under the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earlier {
    pub seq: Seq,
    /// Whether it says the same. An erased entry does: what it said can no longer be compared.
    pub same: bool,
}

/// Where one entry of an append stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// It is new and gets this number.
    New(Seq),
    /// It was there already, under this number.
    Replay(Seq),
}

impl Placed {
    #[must_use]
    pub fn seq(self) -> Seq {
        match self {
            Self::New(seq) | Self::Replay(seq) => seq,
        }
    }
}

/// What an accepted append does: the new head, and a place for each entry in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    pub head: Head,
    pub placed: Vec<Placed>,
}

/// Why an append is refused. Nothing of it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the writer's epoch {given} is over: the stream is held under epoch {current}")]
    Stale { given: Epoch, current: Epoch },
    #[error("entry {0} was appended before with other words")]
    Conflict(EntryId),
    #[error("entry {0} stands in this append twice")]
    Twice(EntryId),
}

/// Decides on an append. `earlier` holds those of its entries that the stream has already.
///
/// A holder whose epoch is over is refused even where all of its entries are there: it must learn that it lost.
pub fn admit(
    head: Head,
    fence: Fence,
    entries: &[EntryId],
    earlier: &BTreeMap<EntryId, Earlier>,
) -> Result<Admission, Refusal> {
    match fence {
        Fence::Holder(given) if given != head.epoch => {
            return Err(Refusal::Stale { given, current: head.epoch });
        }
        Fence::Holder(_) | Fence::Open => {}
    }
    let (mut head, mut seen) = (head, BTreeSet::new());
    let mut placed = Vec::with_capacity(entries.len());
    for id in entries {
        if !seen.insert(*id) {
            return Err(Refusal::Twice(*id));
        }
        placed.push(match earlier.get(id) {
            Some(Earlier { same: false, .. }) => return Err(Refusal::Conflict(*id)),
            Some(Earlier { seq, same: true }) => Placed::Replay(*seq),
            None => {
                head.last_seq = head.last_seq.next();
                Placed::New(head.last_seq)
            }
        });
    }
    Ok(Admission { head, placed })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn id(number: u128) -> EntryId {
        EntryId::from_uuid(Uuid::from_u128(number))
    }

    /// A stream in memory, to run the rule on.
    #[derive(Debug, Default)]
    struct Model {
        head: Head,
        log: Vec<(EntryId, u8)>,
    }

    impl Model {
        fn append(&mut self, fence: Fence, entries: &[(EntryId, u8)]) -> Result<Vec<Placed>, Refusal> {
            let earlier = entries.iter().filter_map(|(id, body)| {
                let at = self.log.iter().position(|(there, _)| there == id)?;
                let seq = Seq::new(i64::try_from(at).expect("small") + 1).expect("positive");
                Some((*id, Earlier { seq, same: self.log[at].1 == *body }))
            });
            let ids: Vec<_> = entries.iter().map(|(id, _)| *id).collect();
            let admission = admit(self.head, fence, &ids, &earlier.collect())?;
            for (entry, placed) in entries.iter().zip(&admission.placed) {
                if matches!(placed, Placed::New(_)) {
                    self.log.push(*entry);
                }
            }
            self.head = admission.head;
            Ok(admission.placed)
        }
    }

    #[test]
    fn same_id_with_the_same_words_replays_the_first_number() {
        let mut model = Model::default();
        model.append(Fence::Open, &[(id(1), 7), (id(2), 7)]).expect("new");
        let again = model.append(Fence::Open, &[(id(2), 7), (id(3), 7)]);
        assert_eq!(again, Ok(vec![Placed::Replay(Seq(2)), Placed::New(Seq(3))]));
    }

    #[test]
    fn same_id_with_other_words_refuses_the_whole_append() {
        let mut model = Model::default();
        model.append(Fence::Open, &[(id(1), 7)]).expect("new");
        assert_eq!(model.append(Fence::Open, &[(id(2), 7), (id(1), 8)]), Err(Refusal::Conflict(id(1))));
        assert_eq!(model.log.len(), 1);
    }

    #[test]
    fn a_holder_that_lost_the_stream_is_refused_even_for_what_is_there() {
        let mut model = Model::default();
        model.append(Fence::Holder(Epoch(0)), &[(id(1), 7)]).expect("held");
        model.head.epoch = Epoch(1);
        let late = model.append(Fence::Holder(Epoch(0)), &[(id(1), 7)]);
        assert_eq!(late, Err(Refusal::Stale { given: Epoch(0), current: Epoch(1) }));
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
        fn whatever_is_asked_the_log_has_no_gap_no_double_and_no_late_writer(steps in steps()) {
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
                            Ok(placed) => {
                                prop_assert!(held);
                                for ((id, body), placed) in entries.iter().zip(placed) {
                                    let at = usize::try_from(placed.seq().get() - 1).expect("positive");
                                    prop_assert_eq!(model.log[at], (*id, *body));
                                }
                            }
                            Err(_) => prop_assert_eq!(&model.log, &before),
                        }
                    }
                }
                prop_assert!(model.log.starts_with(&before), "what was there stays as it was");
                let ids: BTreeSet<_> = model.log.iter().map(|(id, _)| id).collect();
                prop_assert_eq!(ids.len(), model.log.len());
                prop_assert_eq!(usize::try_from(model.head.last_seq.get()).expect("positive"), model.log.len());
            }
        }
    }
}
