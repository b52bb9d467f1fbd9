//! Sampling of log entries that untrusted callers can cause: a limited number is written, the rest is counted.

use jiff::{SignedDuration, Timestamp};

/// Length of a window.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// Maximum entries per window. Typing errors of a person stay far below it, and a flood is limited to 43,200 short
/// entries per day.
pub const MAX_PER_WINDOW: u32 = 30;

/// Decides which entries are written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogSampler {
    started_at: Option<Timestamp>,
    written: u32,
    suppressed: u64,
}

impl LogSampler {
    /// Counts one entry. If it may be written, returns the number of entries suppressed before it.
    pub fn sample(&mut self, now: Timestamp) -> Option<u64> {
        // A clock that goes back starts a new window, too: a window must not last forever.
        let is_same_window = self
            .started_at
            .is_some_and(|started| (SignedDuration::ZERO..WINDOW).contains(&now.duration_since(started)));
        if !is_same_window {
            (self.started_at, self.written) = (Some(now), 0);
        }
        if self.written >= MAX_PER_WINDOW {
            self.suppressed = self.suppressed.saturating_add(1);
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("in range")
    }

    proptest! {
        #[test]
        fn every_entry_is_written_or_counted_as_suppressed(waits in proptest::collection::vec(0i64..20, 0..400)) {
            let (mut sampling, mut now, mut total) = (LogSampler::default(), 0, 0);
            for wait in &waits {
                now += wait;
                if let Some(suppressed) = sampling.sample(at(now)) {
                    total += 1 + suppressed;
                }
            }
            prop_assert_eq!(usize::try_from(total + sampling.suppressed), Ok(waits.len()));
        }

        #[test]
        fn no_window_exceeds_its_limit(waits in proptest::collection::vec(0i64..4, 0..400)) {
            let (mut sampling, mut now, mut written) = (LogSampler::default(), 0, Vec::new());
            for wait in waits {
                now += wait;
                if sampling.sample(at(now)).is_some() {
                    written.push(at(now));
                }
            }
            // Windows are fixed: two adjacent ones can hold twice the limit within the length of one.
            for entries in written.windows(2 * MAX_PER_WINDOW as usize + 1) {
                prop_assert!(entries[entries.len() - 1].duration_since(entries[0]) >= WINDOW);
            }
        }

        #[test]
        fn clock_jump_suppresses_entries_for_at_most_one_window(jump in -100_000i64..100_000) {
            let mut sampling = LogSampler::default();
            for _ in 0..2 * MAX_PER_WINDOW {
                let _ = sampling.sample(at(0));
            }
            let after = if jump < 0 { jump } else { jump + WINDOW.as_secs() };
            prop_assert_eq!(sampling.sample(at(after)), Some(u64::from(MAX_PER_WINDOW)));
        }
    }
}
