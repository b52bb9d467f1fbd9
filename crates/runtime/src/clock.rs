//! The only access to the system clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

/// A clock. Cheap to clone; clones of a manual clock share its time.
#[derive(Debug, Clone, Default)]
pub struct Clock(ClockSource);

#[derive(Debug, Clone, Default)]
enum ClockSource {
    #[default]
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    #[must_use]
    pub fn system() -> Self {
        Self(ClockSource::System)
    }

    /// Creates a clock that stands still until [`Clock::set`] is called.
    #[must_use]
    pub fn manual(start: Timestamp) -> Self {
        Self(ClockSource::Manual(Arc::new(AtomicI64::new(start.as_microsecond()))))
    }

    /// Sets a manual clock; has no effect on the system clock.
    pub fn set(&self, now: Timestamp) {
        match &self.0 {
            ClockSource::System => {}
            ClockSource::Manual(micros) => micros.store(now.as_microsecond(), Ordering::SeqCst),
        }
    }

    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the only access to the system clock")]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            ClockSource::System => Timestamp::now(),
            ClockSource::Manual(micros) => {
                Timestamp::from_microsecond(micros.load(Ordering::SeqCst)).unwrap_or(Timestamp::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_manual_clock_share_its_time() {
        let noon = Timestamp::from_second(1_800_000_000).expect("in range");
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let clone = clock.clone();
        clock.set(noon);
        assert_eq!(clone.now(), noon);
    }
}
