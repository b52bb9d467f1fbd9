//! The history checker compares what callers were acknowledged, what followers observed and what the log holds.
//!
//! Every fault-injection test uses it. Its own tests plant violations, to prove that it finds them.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Seq, Stream};

/// The position of an entry: its stream, sequence number and id.
pub type EntryPosition = (Stream, Seq, EntryId);

/// The history of a test.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Every append that was acknowledged to a caller.
    pub acknowledged: Vec<EntryPosition>,
    /// The log at the end of the test.
    pub log: Vec<EntryPosition>,
    /// For each follower, every entry it received over all its connections.
    pub observed: Vec<Vec<EntryPosition>>,
}

/// A violation of the journal's guarantees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HistoryViolation {
    /// An acknowledged entry is not in the log.
    Lost(EntryPosition),
    /// An entry was acknowledged with a different sequence number than in the log.
    Renumbered { acknowledged: EntryPosition, actual: Seq },
    /// The log contains the same entry twice.
    Duplicate { id: EntryId, first: Seq, second: Seq },
    /// Two entries have the same sequence number.
    DuplicateSeq { stream: Stream, seq: Seq },
    /// A stream has no entry with this sequence number.
    Gap { stream: Stream, missing: Seq },
    /// A follower did not receive an entry of the log.
    Missed { follower: usize, entry: EntryPosition },
    /// A follower received an entry that is not in the log, or not at this position.
    Unknown { follower: usize, entry: EntryPosition },
    /// A follower received an entry or a sequence number a second time.
    Repeated { follower: usize, entry: EntryPosition },
    /// A follower received an entry after a later one of the same stream.
    OutOfOrder { follower: usize, entry: EntryPosition },
}

impl History {
    /// Returns the violations, at most 100.
    #[must_use]
    pub fn violations(&self) -> Vec<HistoryViolation> {
        let mut violations = self.log_violations();
        violations.extend(self.acknowledgement_violations());
        violations.extend(self.follower_violations());
        violations.extend(self.delivery_violations());
        violations.truncate(100);
        violations
    }

    fn log_violations(&self) -> Vec<HistoryViolation> {
        let mut violations = Vec::new();
        let (mut seqs, mut ids) = (BTreeMap::<Stream, BTreeSet<Seq>>::new(), BTreeMap::new());
        for (stream, seq, id) in &self.log {
            if !seqs.entry(*stream).or_default().insert(*seq) {
                violations.push(HistoryViolation::DuplicateSeq { stream: *stream, seq: *seq });
            }
            if let Some(first) = ids.insert((*stream, *id), *seq) {
                violations.push(HistoryViolation::Duplicate { id: *id, first, second: *seq });
            }
        }
        for (stream, seqs) in seqs {
            let mut expected = Seq::ZERO.next();
            for seq in seqs {
                while expected < seq {
                    violations.push(HistoryViolation::Gap { stream, missing: expected });
                    expected = expected.next();
                }
                expected = seq.next();
            }
        }
        violations
    }

    fn acknowledgement_violations(&self) -> impl Iterator<Item = HistoryViolation> + '_ {
        let seqs_by_id: BTreeMap<(Stream, EntryId), Seq> =
            self.log.iter().map(|(stream, seq, id)| ((*stream, *id), *seq)).collect();
        self.acknowledged.iter().filter_map(move |acknowledged| {
            match seqs_by_id.get(&(acknowledged.0, acknowledged.2)) {
                None => Some(HistoryViolation::Lost(*acknowledged)),
                Some(actual) if *actual != acknowledged.1 => {
                    Some(HistoryViolation::Renumbered { acknowledged: *acknowledged, actual: *actual })
                }
                Some(_) => None,
            }
        })
    }

    fn follower_violations(&self) -> impl Iterator<Item = HistoryViolation> + '_ {
        let log: BTreeSet<EntryPosition> = self.log.iter().copied().collect();
        self.observed.iter().enumerate().flat_map(move |(follower, received)| {
            let received: BTreeSet<EntryPosition> = received.iter().copied().collect();
            let missed =
                log.difference(&received).map(|entry| HistoryViolation::Missed { follower, entry: *entry });
            let unknown =
                received.difference(&log).map(|entry| HistoryViolation::Unknown { follower, entry: *entry });
            missed.chain(unknown).collect::<Vec<_>>()
        })
    }

    /// Compares what each follower received with the order of the sequence numbers.
    fn delivery_violations(&self) -> Vec<HistoryViolation> {
        let mut violations = Vec::new();
        for (follower, received) in self.observed.iter().enumerate() {
            let (mut seqs, mut ids) = (BTreeMap::<Stream, BTreeSet<Seq>>::new(), BTreeSet::new());
            for entry @ (stream, seq, id) in received {
                let earlier = seqs.entry(*stream).or_default();
                let is_before_another = earlier.last().is_some_and(|last| seq < last);
                let is_new_seq = earlier.insert(*seq);
                if !ids.insert((*stream, *id)) || !is_new_seq {
                    violations.push(HistoryViolation::Repeated { follower, entry: *entry });
                } else if is_before_another {
                    violations.push(HistoryViolation::OutOfOrder { follower, entry: *entry });
                }
            }
        }
        violations
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::journal::Journal;
    use uuid::Uuid;

    use super::*;

    fn position(number: u32) -> EntryPosition {
        let stream = Stream { journal: Journal::Audit, owner: Uuid::from_u128(1) };
        (
            stream,
            Seq::new(i64::from(number)).expect("positive"),
            EntryId::from_uuid(Uuid::from_u128(number.into())),
        )
    }

    fn valid_history() -> History {
        let log: Vec<_> = (1..=5).map(position).collect();
        History { acknowledged: log.clone(), log: log.clone(), observed: vec![log.clone(), log] }
    }

    #[test]
    fn valid_history_has_no_violation() {
        assert_eq!(valid_history().violations(), vec![]);
    }

    #[test]
    fn lost_entry_is_reported() {
        let mut history = valid_history();
        history.log.pop();
        assert!(history.violations().contains(&HistoryViolation::Lost(position(5))));
    }

    #[test]
    fn duplicate_entry_is_reported() {
        let mut history = valid_history();
        let (stream, _, id) = position(2);
        let second = Seq::new(6).expect("positive");
        history.log.push((stream, second, id));
        assert!(history.violations().contains(&HistoryViolation::Duplicate {
            id,
            first: position(2).1,
            second
        }));
    }

    #[test]
    fn gap_is_reported() {
        let mut history = valid_history();
        history.log.remove(2);
        history.acknowledged.remove(2);
        let (stream, missing, _) = position(3);
        assert!(history.violations().contains(&HistoryViolation::Gap { stream, missing }));
    }

    #[test]
    fn duplicate_and_renumbered_seqs_are_reported() {
        let mut history = valid_history();
        let (stream, seq, _) = position(4);
        history.log.push((stream, seq, EntryId::from_uuid(Uuid::from_u128(99))));
        history.acknowledged.push((stream, position(1).1, position(3).2));
        let violations = history.violations();
        assert!(violations.contains(&HistoryViolation::DuplicateSeq { stream, seq }));
        assert!(violations.iter().any(|violation| matches!(violation, HistoryViolation::Renumbered { .. })));
    }

    #[test]
    fn missed_and_unknown_follower_entries_are_reported() {
        let mut history = valid_history();
        history.observed[1].remove(0);
        history.observed[0].push(position(9));
        let violations = history.violations();
        assert!(violations.contains(&HistoryViolation::Missed { follower: 1, entry: position(1) }));
        assert!(violations.contains(&HistoryViolation::Unknown { follower: 0, entry: position(9) }));
    }

    #[test]
    fn entry_received_twice_is_reported() {
        let mut history = valid_history();
        history.observed[1].push(position(5));
        let expected = HistoryViolation::Repeated { follower: 1, entry: position(5) };
        assert_eq!(history.violations(), vec![expected]);
    }

    #[test]
    fn entry_received_under_two_numbers_is_reported() {
        let mut history = valid_history();
        let (stream, _, id) = position(2);
        let second = (stream, Seq::new(6).expect("positive"), id);
        history.observed[0].push(second);
        let violations = history.violations();
        assert!(violations.contains(&HistoryViolation::Repeated { follower: 0, entry: second }));
        assert!(violations.contains(&HistoryViolation::Unknown { follower: 0, entry: second }));
    }

    #[test]
    fn entries_received_in_another_order_are_reported() {
        let mut history = valid_history();
        history.observed[0].swap(1, 2);
        let expected = HistoryViolation::OutOfOrder { follower: 0, entry: position(2) };
        assert_eq!(history.violations(), vec![expected]);
    }

    #[test]
    fn order_of_one_stream_does_not_depend_on_another() {
        let mut history = valid_history();
        let other = Stream { journal: Journal::Audit, owner: Uuid::from_u128(2) };
        let entry = (other, position(1).1, position(9).2);
        history.log.push(entry);
        history.observed[0].push(entry);
        history.observed[1].insert(0, entry);
        assert_eq!(history.violations(), vec![]);
    }

    #[test]
    fn entry_renumbered_after_it_was_received_is_reported() {
        let mut history = valid_history();
        history.acknowledged.clear();
        // The log holds the second and third entry at each other's number.
        (history.log[1].2, history.log[2].2) = (history.log[2].2, history.log[1].2);
        let violations = history.violations();
        for follower in [0, 1] {
            assert!(violations.contains(&HistoryViolation::Unknown { follower, entry: position(2) }));
            assert!(violations.contains(&HistoryViolation::Unknown { follower, entry: position(3) }));
        }
    }
}
