//! Failed sign-ins: after a few in a short time the next ones are not even tried.
//!
//! A lock stops guessing at one name; it also lets anyone shut that name out for a while. It therefore ends by itself,
//! and attempts during it neither count nor extend it.

use jiff::{SignedDuration, Timestamp};

/// Failures until the lock. Five allow for a person's typing and leave a guesser 480 tries a day.
pub const FAILURES: usize = 5;

/// The time in which they must happen to count together.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(15);

/// How long the lock holds after the last failure. Not less than [`WINDOW`], so that its end is a fresh start.
pub const LOCKED_FOR: SignedDuration = SignedDuration::from_mins(15);

/// The recent failures of one name, oldest first, [`FAILURES`] at most.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attempts {
    failed_at: Vec<Timestamp>,
}

/// Whether a sign-in may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Try,
    /// Not before this time, whatever the password. Do not check it: the answer must not tell whether it was right.
    Locked {
        until: Timestamp,
    },
}

impl Attempts {
    /// Makes the state from stored failures, in any order.
    #[must_use]
    pub fn from_failures(failures: impl IntoIterator<Item = Timestamp>) -> Self {
        let mut failed_at: Vec<Timestamp> = failures.into_iter().collect();
        failed_at.sort_unstable();
        failed_at.drain(..failed_at.len().saturating_sub(FAILURES));
        Self { failed_at }
    }

    /// Returns the failures to store, oldest first.
    #[must_use]
    pub fn failures(&self) -> &[Timestamp] {
        &self.failed_at
    }

    /// Decides whether the password may be checked now.
    #[must_use]
    pub fn admit(&self, now: Timestamp) -> Admission {
        match self.locked_until() {
            Some(until) if now < until => Admission::Locked { until },
            Some(_) | None => Admission::Try,
        }
    }

    /// Returns the state after the password was checked and was wrong.
    #[must_use]
    pub fn failed(mut self, now: Timestamp) -> Self {
        // A clock that went back must not shorten what is counted.
        let now = self.failed_at.last().map_or(now, |last| now.max(*last));
        self.failed_at.retain(|at| now.duration_since(*at) < WINDOW);
        self.failed_at.push(now);
        Self::from_failures(self.failed_at)
    }

    /// Returns the state after the password was right: nothing is held against the name.
    #[must_use]
    pub fn succeeded(self) -> Self {
        Self::default()
    }

    fn locked_until(&self) -> Option<Timestamp> {
        let (first, last) = (self.failed_at.first()?, self.failed_at.last()?);
        let locks = self.failed_at.len() >= FAILURES && last.duration_since(*first) < WINDOW;
        locks.then(|| last.checked_add(LOCKED_FOR).unwrap_or(Timestamp::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("in range")
    }

    fn failed_at(seconds: &[i64]) -> Attempts {
        seconds.iter().fold(Attempts::default(), |attempts, second| attempts.failed(at(*second)))
    }

    #[test]
    fn the_fifth_failure_locks_for_a_quarter_of_an_hour() {
        assert_eq!(failed_at(&[0, 1, 2, 3]).admit(at(3)), Admission::Try);
        let locked = failed_at(&[0, 1, 2, 3, 4]);
        assert_eq!(locked.admit(at(4)), Admission::Locked { until: at(904) });
        assert_eq!(locked.admit(at(903)), Admission::Locked { until: at(904) });
        assert_eq!(locked.admit(at(904)), Admission::Try);
    }

    #[test]
    fn after_the_lock_the_count_begins_anew() {
        let again = failed_at(&[0, 1, 2, 3, 4]).failed(at(904));
        assert_eq!(again, failed_at(&[904]));
    }

    #[test]
    fn failures_far_apart_do_not_add_up() {
        assert_eq!(failed_at(&[0, 300, 600, 899, 900]).admit(at(900)), Admission::Try);
        assert_eq!(failed_at(&[0, 300, 600, 800, 899]).admit(at(899)), Admission::Locked { until: at(1799) });
    }

    #[test]
    fn a_success_clears_what_was_counted() {
        let cleared = failed_at(&[0, 1, 2, 3]).succeeded();
        assert_eq!(cleared, Attempts::default());
        assert_eq!(cleared.failed(at(4)).admit(at(4)), Admission::Try);
    }

    #[test]
    fn stored_failures_are_read_back_in_any_order() {
        let attempts = failed_at(&[0, 1, 2, 3, 4]);
        let stored: Vec<Timestamp> = attempts.failures().iter().rev().copied().collect();
        assert_eq!(Attempts::from_failures(stored), attempts);
    }

    proptest! {
        #[test]
        fn a_guesser_gets_at_most_five_tries_in_any_window(waits in proptest::collection::vec(0i64..400, 0..200)) {
            let (mut attempts, mut now, mut tried) = (Attempts::default(), 0, Vec::new());
            for wait in waits {
                now += wait;
                if attempts.admit(at(now)) == Admission::Try {
                    attempts = attempts.failed(at(now));
                    tried.push(at(now));
                }
            }
            for six in tried.windows(FAILURES + 1) {
                prop_assert!(six[FAILURES].duration_since(six[0]) >= WINDOW);
            }
        }

        #[test]
        fn knocking_at_a_locked_door_does_not_keep_it_locked(knocks in proptest::collection::vec(0i64..900, 0..50)) {
            let locked = failed_at(&[0, 0, 0, 0, 0]);
            for knock in knocks {
                prop_assert_eq!(locked.admit(at(knock)), Admission::Locked { until: at(900) });
            }
            prop_assert_eq!(locked.admit(at(900)), Admission::Try);
        }

        #[test]
        fn a_clock_that_jumps_neither_panics_nor_opens_a_lock_early(seconds in proptest::collection::vec(-2000i64..2000, 5..40)) {
            let mut attempts = Attempts::default();
            for second in &seconds {
                let before = attempts.admit(at(*second));
                let next = attempts.clone().failed(at(*second));
                if let (Admission::Locked { until }, Some(after)) = (before, next.locked_until()) {
                    prop_assert!(after >= until);
                }
                prop_assert!(next.failures().is_sorted() && next.failures().len() <= FAILURES);
                attempts = next;
            }
        }
    }
}
