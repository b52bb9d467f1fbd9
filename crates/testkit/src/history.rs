//! The history checker: holds what callers were told, what followers saw and what the log says against each other.
//!
//! Used by every fault test. It is shown planted faults first: a checker that finds nothing proves nothing.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Seq, Stream};

/// An entry's place: which stream, which number, which id.
pub type Sighting = (Stream, Seq, EntryId);

/// What happened during a test.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Every append that a caller was told is durable.
    pub acknowledged: Vec<Sighting>,
    /// The log as it stands at the end.
    pub log: Vec<Sighting>,
    /// For each follower, everything it saw over all its connections.
    pub followed: Vec<Vec<Sighting>>,
}

/// Something that must never happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A caller was told that an entry is durable, and it is not there.
    Lost(Sighting),
    /// A caller was told another number than the log has.
    Renumbered { told: Sighting, found: Seq },
    /// The same entry stands in the log twice.
    Doubled { id: EntryId, first: Seq, second: Seq },
    /// Two entries have the same number.
    SameNumber { stream: Stream, seq: Seq },
    /// A number is missing in a stream.
    Gap { stream: Stream, missing: Seq },
    /// A follower did not see an entry of the log.
    Missed { follower: usize, entry: Sighting },
    /// A follower saw an entry that is not in the log.
    Invented { follower: usize, entry: Sighting },
}

impl History {
    /// Returns every fault, at most a hundred.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = self.log_faults();
        faults.extend(self.acknowledgement_faults());
        faults.extend(self.follower_faults());
        faults.truncate(100);
        faults
    }

    fn log_faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let (mut numbers, mut ids) = (BTreeMap::<Stream, BTreeSet<Seq>>::new(), BTreeMap::new());
        for (stream, seq, id) in &self.log {
            if !numbers.entry(*stream).or_default().insert(*seq) {
                faults.push(Fault::SameNumber { stream: *stream, seq: *seq });
            }
            if let Some(first) = ids.insert((*stream, *id), *seq) {
                faults.push(Fault::Doubled { id: *id, first, second: *seq });
            }
        }
        for (stream, numbers) in numbers {
            let mut wanted = Seq::ZERO.next();
            for seq in numbers {
                while wanted < seq {
                    faults.push(Fault::Gap { stream, missing: wanted });
                    wanted = wanted.next();
                }
                wanted = seq.next();
            }
        }
        faults
    }

    fn acknowledgement_faults(&self) -> impl Iterator<Item = Fault> + '_ {
        let places: BTreeMap<(Stream, EntryId), Seq> =
            self.log.iter().map(|(stream, seq, id)| ((*stream, *id), *seq)).collect();
        self.acknowledged.iter().filter_map(move |told| match places.get(&(told.0, told.2)) {
            None => Some(Fault::Lost(*told)),
            Some(found) if *found != told.1 => Some(Fault::Renumbered { told: *told, found: *found }),
            Some(_) => None,
        })
    }

    fn follower_faults(&self) -> impl Iterator<Item = Fault> + '_ {
        let log: BTreeSet<Sighting> = self.log.iter().copied().collect();
        self.followed.iter().enumerate().flat_map(move |(follower, seen)| {
            let seen: BTreeSet<Sighting> = seen.iter().copied().collect();
            let missed = log.difference(&seen).map(|entry| Fault::Missed { follower, entry: *entry });
            let invented = seen.difference(&log).map(|entry| Fault::Invented { follower, entry: *entry });
            missed.chain(invented).collect::<Vec<_>>()
        })
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::journal::Journal;
    use uuid::Uuid;

    use super::*;

    fn sighting(number: u32) -> Sighting {
        let stream = Stream { journal: Journal::Audit, owner: Uuid::from_u128(1) };
        (
            stream,
            Seq::new(i64::from(number)).expect("positive"),
            EntryId::from_uuid(Uuid::from_u128(number.into())),
        )
    }

    fn sound() -> History {
        let log: Vec<_> = (1..=5).map(sighting).collect();
        History { acknowledged: log.clone(), log: log.clone(), followed: vec![log.clone(), log] }
    }

    #[test]
    fn a_sound_history_has_no_fault() {
        assert_eq!(sound().faults(), vec![]);
    }

    #[test]
    fn a_planted_loss_is_found() {
        let mut history = sound();
        history.log.pop();
        assert!(history.faults().contains(&Fault::Lost(sighting(5))));
    }

    #[test]
    fn a_planted_double_is_found() {
        let mut history = sound();
        let (stream, _, id) = sighting(2);
        let second = Seq::new(6).expect("positive");
        history.log.push((stream, second, id));
        assert!(history.faults().contains(&Fault::Doubled { id, first: sighting(2).1, second }));
    }

    #[test]
    fn a_planted_gap_is_found() {
        let mut history = sound();
        history.log.remove(2);
        history.acknowledged.remove(2);
        let (stream, missing, _) = sighting(3);
        assert!(history.faults().contains(&Fault::Gap { stream, missing }));
    }

    #[test]
    fn a_number_given_twice_and_a_number_told_wrong_are_found() {
        let mut history = sound();
        let (stream, seq, _) = sighting(4);
        history.log.push((stream, seq, EntryId::from_uuid(Uuid::from_u128(99))));
        history.acknowledged.push((stream, sighting(1).1, sighting(3).2));
        let faults = history.faults();
        assert!(faults.contains(&Fault::SameNumber { stream, seq }));
        assert!(faults.iter().any(|fault| matches!(fault, Fault::Renumbered { .. })));
    }

    #[test]
    fn a_follower_that_missed_or_invented_an_entry_is_found() {
        let mut history = sound();
        history.followed[1].remove(0);
        history.followed[0].push(sighting(9));
        let faults = history.faults();
        assert!(faults.contains(&Fault::Missed { follower: 1, entry: sighting(1) }));
        assert!(faults.contains(&Fault::Invented { follower: 0, entry: sighting(9) }));
    }
}
