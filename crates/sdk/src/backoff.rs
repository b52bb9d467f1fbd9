//! Exponential backoff with jitter.

use std::time::Duration;

/// Delay before the first retry; doubled up to the maximum.
const INITIAL_DELAY: Duration = Duration::from_millis(200);
const MAX_DELAY: Duration = Duration::from_secs(5);

/// Upper limit for the server's `retryAfter`: a follower that sleeps for hours looks broken.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Counts failed attempts and computes the delay before the next one.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
    /// The delay that the server requested.
    retry_after: Duration,
}

impl Backoff {
    pub(crate) fn record_failure(&mut self, retry_after: Option<Duration>) {
        self.failures = self.failures.saturating_add(1);
        self.retry_after = retry_after.unwrap_or_default().min(MAX_RETRY_AFTER);
    }

    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn delay(&self) -> Duration {
        delay_after(self.failures).max(self.retry_after)
    }
}

/// Returns a delay that grows with each failure, with jitter so that clients do not retry at the same moment.
fn delay_after(failures: u32) -> Duration {
    if failures == 0 {
        return Duration::ZERO;
    }
    let longest = INITIAL_DELAY.saturating_mul(1 << failures.min(10)).min(MAX_DELAY);
    let random = getrandom::u32().unwrap_or(u32::MAX);
    longest / 2 + (longest / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_up_to_the_maximum() {
        assert_eq!(delay_after(0), Duration::ZERO);
        for failures in 1..40 {
            let delay = delay_after(failures);
            assert!(delay >= INITIAL_DELAY / 2 && delay <= MAX_DELAY, "{failures}: {delay:?}");
        }
        assert!(delay_after(30) >= MAX_DELAY / 2);
    }

    #[test]
    fn retry_after_is_used_up_to_its_limit_and_reset_on_success() {
        let mut backoff = Backoff::default();
        backoff.record_failure(Some(Duration::from_secs(30)));
        assert_eq!(backoff.delay(), Duration::from_secs(30));
        backoff.record_failure(Some(Duration::from_secs(24 * 3600)));
        assert_eq!(backoff.delay(), MAX_RETRY_AFTER);
        backoff.reset();
        assert_eq!(backoff.delay(), Duration::ZERO);
    }
}
