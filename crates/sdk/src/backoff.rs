//! Exponential backoff with jitter.

use std::time::Duration;

/// Delay before the first retry; doubled up to the maximum.
const INITIAL_DELAY: Duration = Duration::from_millis(200);
const MAX_DELAY: Duration = Duration::from_secs(5);

/// Maximum delay of sockets: a replica may have had 50,000 of them, which all come back.
const MAX_SOCKET_DELAY: Duration = Duration::from_secs(30);

/// Upper limit for the server's `retryAfter`: a follower that sleeps for hours looks broken.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Counts failed attempts and computes the delay before the next one.
#[derive(Debug)]
pub(crate) struct Backoff {
    max_delay: Duration,
    failures: u32,
    /// The delay that the server requested.
    retry_after: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::with_max(MAX_DELAY)
    }
}

impl Backoff {
    /// Returns the backoff of a socket.
    pub(crate) fn of_socket() -> Self {
        Self::with_max(MAX_SOCKET_DELAY)
    }

    fn with_max(max_delay: Duration) -> Self {
        Self { max_delay, failures: 0, retry_after: Duration::ZERO }
    }

    pub(crate) fn record_failure(&mut self, retry_after: Option<Duration>) {
        self.failures = self.failures.saturating_add(1);
        self.retry_after = retry_after.unwrap_or_default().min(MAX_RETRY_AFTER);
    }

    pub(crate) fn reset(&mut self) {
        *self = Self::with_max(self.max_delay);
    }

    pub(crate) fn delay(&self) -> Duration {
        delay_after(self.failures, self.max_delay).max(self.retry_after)
    }
}

/// Returns a delay that grows with each failure, with jitter so that clients do not retry at the same moment.
fn delay_after(failures: u32, max_delay: Duration) -> Duration {
    if failures == 0 {
        return Duration::ZERO;
    }
    let longest = INITIAL_DELAY.saturating_mul(1 << failures.min(10)).min(max_delay);
    longest / 2 + random_delay(longest / 2)
}

/// Returns a random delay, so that clients do not come at the same moment.
pub(crate) fn random_delay(longest: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or(u32::MAX);
    longest.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_up_to_the_maximum() {
        for max_delay in [MAX_DELAY, MAX_SOCKET_DELAY] {
            assert_eq!(delay_after(0, max_delay), Duration::ZERO);
            for failures in 1..40 {
                let delay = delay_after(failures, max_delay);
                assert!(delay >= INITIAL_DELAY / 2 && delay <= max_delay, "{failures}: {delay:?}");
            }
            assert!(delay_after(30, max_delay) >= max_delay / 2);
        }
    }

    #[test]
    fn retry_after_is_used_up_to_its_limit_and_reset_on_success() {
        let mut backoff = Backoff::of_socket();
        backoff.record_failure(Some(Duration::from_secs(30)));
        assert_eq!(backoff.delay(), Duration::from_secs(30));
        backoff.record_failure(Some(Duration::from_secs(24 * 3600)));
        assert_eq!(backoff.delay(), MAX_RETRY_AFTER);
        backoff.reset();
        assert_eq!((backoff.delay(), backoff.max_delay), (Duration::ZERO, MAX_SOCKET_DELAY));
    }
}
