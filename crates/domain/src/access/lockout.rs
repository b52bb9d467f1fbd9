//! Lockout after failed sign-ins.
//!
//! A lock stops password guessing for one name, but anyone can cause it. It therefore ends by itself, and attempts
//! during the lock neither count nor extend it.

use jiff::{SignedDuration, Timestamp};

/// Failures until the lock. Five tolerate typing errors and leave an attacker 480 attempts per day.
pub const MAX_FAILURES: usize = 5;

/// Period in which failures are counted together.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(15);

/// Duration of the lock after the last failure. At least [`WINDOW`], so that the count restarts at its end.
pub const LOCK_DURATION: SignedDuration = SignedDuration::from_mins(15);

/// The recent failures of one name: at most [`MAX_FAILURES`], oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignInAttempts {
    failed_at: Vec<Timestamp>,
}

/// Whether a password may be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInDecision {
    Allowed,
    /// No sign-in before this time. The password must not be checked, so that the response does not depend on it.
    Locked {
        until: Timestamp,
    },
}

impl SignInAttempts {
    /// Creates the state from stored failures, in any order.
    #[must_use]
    pub fn from_failures(failures: impl IntoIterator<Item = Timestamp>) -> Self {
        let mut failed_at: Vec<Timestamp> = failures.into_iter().collect();
        failed_at.sort_unstable();
        failed_at.drain(..failed_at.len().saturating_sub(MAX_FAILURES));
        Self { failed_at }
    }

    /// Returns the failures to store, oldest first.
    #[must_use]
    pub fn failures(&self) -> &[Timestamp] {
        &self.failed_at
    }

    /// Decides whether the password may be checked now.
    #[must_use]
    pub fn check(&self, now: Timestamp) -> SignInDecision {
        match self.locked_until() {
            Some(until) if now < until => SignInDecision::Locked { until },
            Some(_) | None => SignInDecision::Allowed,
        }
    }

    /// Returns the state after a wrong password.
    #[must_use]
    pub fn record_failure(mut self, now: Timestamp) -> Self {
        // A clock that goes back must not discard counted failures.
        let now = self.failed_at.last().map_or(now, |last| now.max(*last));
        self.failed_at.retain(|at| now.duration_since(*at) < WINDOW);
        self.failed_at.push(now);
        Self::from_failures(self.failed_at)
    }

    /// Returns the state after a correct password: all failures are cleared.
    #[must_use]
    pub fn record_success(self) -> Self {
        Self::default()
    }

    fn locked_until(&self) -> Option<Timestamp> {
        let (first, last) = (self.failed_at.first()?, self.failed_at.last()?);
        let locks = self.failed_at.len() >= MAX_FAILURES && last.duration_since(*first) < WINDOW;
        locks.then(|| last.checked_add(LOCK_DURATION).unwrap_or(Timestamp::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("in range")
    }

    fn failed_at(seconds: &[i64]) -> SignInAttempts {
        seconds
            .iter()
            .fold(SignInAttempts::default(), |attempts, second| attempts.record_failure(at(*second)))
    }

    #[test]
    fn fifth_failure_locks_for_15_minutes() {
        assert_eq!(failed_at(&[0, 1, 2, 3]).check(at(3)), SignInDecision::Allowed);
        let locked = failed_at(&[0, 1, 2, 3, 4]);
        assert_eq!(locked.check(at(4)), SignInDecision::Locked { until: at(904) });
        assert_eq!(locked.check(at(903)), SignInDecision::Locked { until: at(904) });
        assert_eq!(locked.check(at(904)), SignInDecision::Allowed);
    }

    #[test]
    fn count_restarts_after_the_lock() {
        let again = failed_at(&[0, 1, 2, 3, 4]).record_failure(at(904));
        assert_eq!(again, failed_at(&[904]));
    }

    #[test]
    fn failures_outside_the_window_do_not_count() {
        assert_eq!(failed_at(&[0, 300, 600, 899, 900]).check(at(900)), SignInDecision::Allowed);
        assert_eq!(
            failed_at(&[0, 300, 600, 800, 899]).check(at(899)),
            SignInDecision::Locked { until: at(1799) }
        );
    }

    #[test]
    fn success_clears_the_failures() {
        let cleared = failed_at(&[0, 1, 2, 3]).record_success();
        assert_eq!(cleared, SignInAttempts::default());
        assert_eq!(cleared.record_failure(at(4)).check(at(4)), SignInDecision::Allowed);
    }

    #[test]
    fn stored_failures_are_accepted_in_any_order() {
        let attempts = failed_at(&[0, 1, 2, 3, 4]);
        let stored: Vec<Timestamp> = attempts.failures().iter().rev().copied().collect();
        assert_eq!(SignInAttempts::from_failures(stored), attempts);
    }

    proptest! {
        #[test]
        fn at_most_five_attempts_are_allowed_in_any_window(waits in proptest::collection::vec(0i64..400, 0..200)) {
            let (mut attempts, mut now, mut tried) = (SignInAttempts::default(), 0, Vec::new());
            for wait in waits {
                now += wait;
                if attempts.check(at(now)) == SignInDecision::Allowed {
                    attempts = attempts.record_failure(at(now));
                    tried.push(at(now));
                }
            }
            for six in tried.windows(MAX_FAILURES + 1) {
                prop_assert!(six[MAX_FAILURES].duration_since(six[0]) >= WINDOW);
            }
        }

        #[test]
        fn attempts_during_the_lock_do_not_extend_it(attempts in proptest::collection::vec(0i64..900, 0..50)) {
            let locked = failed_at(&[0, 0, 0, 0, 0]);
            for second in attempts {
                prop_assert_eq!(locked.check(at(second)), SignInDecision::Locked { until: at(900) });
            }
            prop_assert_eq!(locked.check(at(900)), SignInDecision::Allowed);
        }

        #[test]
        fn clock_jump_does_not_panic_or_shorten_a_lock(seconds in proptest::collection::vec(-2000i64..2000, 5..40)) {
            let mut attempts = SignInAttempts::default();
            for second in &seconds {
                let before = attempts.check(at(*second));
                let next = attempts.clone().record_failure(at(*second));
                if let (SignInDecision::Locked { until }, Some(after)) = (before, next.locked_until()) {
                    prop_assert!(after >= until);
                }
                prop_assert!(next.failures().is_sorted() && next.failures().len() <= MAX_FAILURES);
                attempts = next;
            }
        }
    }
}
