//! The only place that asks the system for the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

/// Tells the time. Cheap to clone; clones of a manual clock share its hands.
#[derive(Debug, Clone, Default)]
pub struct Clock(Source);

#[derive(Debug, Clone, Default)]
enum Source {
    #[default]
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// Makes a clock that stands still until [`Clock::set`] moves it.
    #[must_use]
    pub fn manual(start: Timestamp) -> Self {
        Self(Source::Manual(Arc::new(AtomicI64::new(start.as_microsecond()))))
    }

    /// Moves a manual clock; the system's clock stays as it is.
    pub fn set(&self, now: Timestamp) {
        match &self.0 {
            Source::System => {}
            Source::Manual(hands) => hands.store(now.as_microsecond(), Ordering::SeqCst),
        }
    }

    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everyone else takes")]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => Timestamp::now(),
            Source::Manual(hands) => {
                Timestamp::from_microsecond(hands.load(Ordering::SeqCst)).unwrap_or(Timestamp::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_for_all_who_hold_it() {
        let noon = Timestamp::from_second(1_800_000_000).expect("in range");
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let held_elsewhere = clock.clone();
        clock.set(noon);
        assert_eq!(held_elsewhere.now(), noon);
    }
}
