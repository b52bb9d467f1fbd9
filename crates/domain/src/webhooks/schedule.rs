//! When an event is sent again, when it is given up, and when its webhook is disabled.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::ids::WebhookEventId;

/// Attempts of one event. With the pauses below, the last one is 55 to 75 hours after the first.
pub const MAX_ATTEMPTS: u32 = 49;

/// The pause after the first failure. It doubles with each further one.
const INITIAL_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause, so that events are sent soon after a receiver is up again.
const MAX_PAUSE: Duration = Duration::from_secs(2 * 3600);

/// The longest pause that a receiver can request. One that asks for days is asked again each hour.
pub const MAX_REQUESTED_PAUSE: Duration = Duration::from_secs(3600);

/// A webhook whose attempts have all failed for this long is disabled: longer than an event is tried, shorter than events
/// are kept.
pub const DISABLE_AFTER: SignedDuration = SignedDuration::from_hours(5 * 24);

/// How long events are kept, also those that were missed.
pub const KEEP_EVENTS: SignedDuration = SignedDuration::from_hours(14 * 24);

/// Events of one webhook. The oldest ones are deleted first, whatever their state.
pub const MAX_KEPT_EVENTS: u32 = 100_000;

/// A listener whose program has not asked for this long is deleted.
pub const LISTENER_LIFETIME: SignedDuration = SignedDuration::from_mins(15);

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAttempt {
    After(Duration),
    GiveUp,
}

impl NextAttempt {
    /// Decides after attempt number `attempt` (from 1) has failed. A pause that the receiver requests lengthens the one of the
    /// schedule, within a limit.
    #[must_use]
    pub fn decide(event: WebhookEventId, attempt: u32, requested: Option<Duration>) -> Self {
        if attempt >= MAX_ATTEMPTS {
            return Self::GiveUp;
        }
        let requested = requested.unwrap_or_default().min(MAX_REQUESTED_PAUSE);
        Self::After(pause(event, attempt).max(requested))
    }
}

/// Returns whether a webhook is disabled after a failed attempt.
#[must_use]
pub fn is_dead(failing_since: Timestamp, now: Timestamp) -> bool {
    now.duration_since(failing_since) >= DISABLE_AFTER
}

/// Returns the exponential pause with up to 25 % jitter. The jitter is derived from the id, which keeps the function
/// deterministic and spreads events that failed together.
fn pause(event: WebhookEventId, attempt: u32) -> Duration {
    let doublings = attempt.saturating_sub(1).min(31);
    let whole = INITIAL_PAUSE.saturating_mul(1 << doublings).min(MAX_PAUSE);
    // Consecutive ids differ in few bits: the multiplication spreads them into the ten highest bits.
    let (_, bits) = event.as_uuid().as_u64_pair();
    let jitter = (bits ^ u64::from(attempt)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    whole - (whole / 4).mul_f64(jitter as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn id(bits: u128) -> WebhookEventId {
        WebhookEventId::from_uuid(Uuid::from_u128(bits))
    }

    #[test]
    fn events_that_failed_together_are_spread() {
        let mut pauses: Vec<Duration> = (0..64).map(|bits| pause(id(bits), 10)).collect();
        pauses.sort();
        pauses.dedup();
        assert!(pauses.len() > 50, "{} of 64 differ", pauses.len());
    }

    #[test]
    fn webhook_is_dead_after_five_days_of_failures() {
        let since = Timestamp::UNIX_EPOCH;
        assert!(!is_dead(since, since + DISABLE_AFTER - SignedDuration::from_secs(1)));
        assert!(is_dead(since, since + DISABLE_AFTER));
    }

    proptest! {
        #[test]
        fn event_is_tried_for_days_and_then_given_up(bits in any::<u128>()) {
            let mut total = Duration::ZERO;
            for attempt in 1..MAX_ATTEMPTS {
                let NextAttempt::After(pause) = NextAttempt::decide(id(bits), attempt, None) else {
                    return Err(TestCaseError::fail("given up too early"));
                };
                prop_assert!(pause >= Duration::from_millis(750) && pause <= MAX_PAUSE);
                total += pause;
            }
            prop_assert!(total >= Duration::from_secs(54 * 3600) && total <= Duration::from_secs(75 * 3600), "{total:?}");
            prop_assert_eq!(NextAttempt::decide(id(bits), MAX_ATTEMPTS, None), NextAttempt::GiveUp);
        }

        #[test]
        fn requested_pause_lengthens_within_a_limit(
            bits in any::<u128>(),
            attempt in 1..MAX_ATTEMPTS,
            seconds in any::<u64>(),
        ) {
            let requested = Duration::from_secs(seconds);
            let expected = pause(id(bits), attempt).max(requested.min(MAX_REQUESTED_PAUSE));
            prop_assert_eq!(NextAttempt::decide(id(bits), attempt, Some(requested)), NextAttempt::After(expected));
        }
    }
}
