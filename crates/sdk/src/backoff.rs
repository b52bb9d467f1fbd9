//! How long to wait for a server that is away.

use std::time::Duration;

/// The first wait before a new attempt; doubled up to the last.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LAST_WAIT: Duration = Duration::from_secs(5);

/// A server may ask for a longer wait, within reason: a follower that sleeps for hours looks broken.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// Counts attempts that failed, and says how long to wait before the next.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
    /// How long the server asked to wait.
    asked: Duration,
}

impl Backoff {
    pub(crate) fn failed(&mut self, asked: Option<Duration>) {
        self.failures = self.failures.saturating_add(1);
        self.asked = asked.unwrap_or_default().min(LONGEST_ASKED);
    }

    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn wait(&self) -> Duration {
        wait_after(self.failures).max(self.asked)
    }
}

/// Returns how long to wait: longer each time, and never the same for all who lost a server at once.
fn wait_after(failures: u32) -> Duration {
    if failures == 0 {
        return Duration::ZERO;
    }
    let longest = FIRST_WAIT.saturating_mul(1 << failures.min(10)).min(LAST_WAIT);
    let random = getrandom::u32().unwrap_or(u32::MAX);
    longest / 2 + (longest / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_bounded() {
        assert_eq!(wait_after(0), Duration::ZERO);
        for failures in 1..40 {
            let wait = wait_after(failures);
            assert!(wait >= FIRST_WAIT / 2 && wait <= LAST_WAIT, "{failures}: {wait:?}");
        }
        assert!(wait_after(30) >= LAST_WAIT / 2);
    }

    #[test]
    fn a_server_may_ask_for_more_within_reason_until_it_answers() {
        let mut backoff = Backoff::default();
        backoff.failed(Some(Duration::from_secs(30)));
        assert_eq!(backoff.wait(), Duration::from_secs(30));
        backoff.failed(Some(Duration::from_secs(24 * 3600)));
        assert_eq!(backoff.wait(), LONGEST_ASKED);
        backoff.succeeded();
        assert_eq!(backoff.wait(), Duration::ZERO);
    }
}
