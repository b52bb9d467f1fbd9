//! Retry schedule of outbox effects.

use std::time::Duration;

use crate::ids::EffectId;

/// Maximum attempts per effect. With the backoff below, the last is six to eight hours after the first.
pub const MAX_ATTEMPTS: u32 = 20;

/// Backoff after the first failure. It doubles with each further failure.
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);

/// Limit of the backoff, so that delivery resumes soon after the target recovers.
const MAX_BACKOFF: Duration = Duration::from_secs(3600);

/// Whether a failed attempt can be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    /// A retry may succeed.
    Transient,
    /// Every retry would fail.
    Permanent,
}

/// The longest pause that a target can request. A target that asks for days is asked again each hour.
pub const MAX_REQUESTED_PAUSE: Duration = MAX_BACKOFF;

/// What to do after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    Retry { after: Duration },
    GiveUp,
}

impl RetryDecision {
    /// Decides after attempt number `attempts` (from 1) has failed.
    #[must_use]
    pub fn decide(id: EffectId, attempts: u32, failure: FailureClass) -> Self {
        match failure {
            FailureClass::Permanent => Self::GiveUp,
            FailureClass::Transient if attempts >= MAX_ATTEMPTS => Self::GiveUp,
            FailureClass::Transient => Self::Retry { after: backoff(id, attempts) },
        }
    }

    /// Retries no sooner than the target requests, within a limit. It changes neither the number of attempts nor a
    /// longer backoff.
    #[must_use]
    pub fn not_before(self, requested: Option<Duration>) -> Self {
        match (self, requested) {
            (Self::Retry { after }, Some(requested)) => {
                Self::Retry { after: after.max(requested.min(MAX_REQUESTED_PAUSE)) }
            }
            (Self::Retry { .. } | Self::GiveUp, _) => self,
        }
    }
}

/// Returns the exponential backoff with up to 25 % jitter. The jitter is derived from the id, which keeps the function
/// deterministic and spreads effects that failed together.
fn backoff(id: EffectId, attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(1).min(31);
    let whole = INITIAL_BACKOFF.saturating_mul(1 << doublings).min(MAX_BACKOFF);
    // Consecutive ids differ in few bits: the multiplication spreads them into the ten highest bits.
    let (_, bits) = id.as_uuid().as_u64_pair();
    let jitter = (bits ^ u64::from(attempts)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    whole - (whole / 4).mul_f64(jitter as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn id(bits: u128) -> EffectId {
        EffectId::from_uuid(Uuid::from_u128(bits))
    }

    fn waits(id: EffectId) -> Vec<Duration> {
        let waits = (1..MAX_ATTEMPTS).map(|attempts| {
            match RetryDecision::decide(id, attempts, FailureClass::Transient) {
                RetryDecision::Retry { after } => after,
                RetryDecision::GiveUp => panic!("given up after attempt {attempts}"),
            }
        });
        waits.collect()
    }

    #[test]
    fn backoff_differs_between_effects_that_failed_together() {
        let ids = (0..1000).map(|_| EffectId::generate());
        let mut after: Vec<_> = ids.map(|id| waits(id)[9]).collect();
        after.sort_unstable();
        after.dedup();
        assert!(after.len() > 300, "only {} different waits", after.len());
    }

    proptest! {
        #[test]
        fn backoff_grows_and_stays_within_its_limits(bits in any::<u128>()) {
            let waits = waits(id(bits));
            prop_assert!(waits.iter().all(|wait| *wait >= INITIAL_BACKOFF * 3 / 4 && *wait <= MAX_BACKOFF));
            let doubling = waits.iter().filter(|wait| **wait < MAX_BACKOFF * 3 / 4).collect::<Vec<_>>();
            prop_assert!(doubling.is_sorted(), "{waits:?}");
            // Twelve doublings, then one hour each.
            let (total, whole) = (waits.iter().sum::<Duration>(), Duration::from_secs(4095 + 7 * 3600));
            prop_assert!(total <= whole && total >= whole * 3 / 4, "{total:?}");
        }

        #[test]
        fn requested_pause_only_lengthens_a_retry_and_is_bounded(
            bits in any::<u128>(),
            attempts in 1..MAX_ATTEMPTS,
            requested in prop::option::of((0_u64..u64::MAX).prop_map(Duration::from_secs)),
        ) {
            let own = RetryDecision::decide(id(bits), attempts, FailureClass::Transient);
            let (RetryDecision::Retry { after: own }, RetryDecision::Retry { after }) = (own, own.not_before(requested))
            else { panic!("a retry") };
            prop_assert!(after >= own && after <= MAX_BACKOFF);
            let expected = requested.map_or(own, |requested| own.max(requested.min(MAX_REQUESTED_PAUSE)));
            prop_assert_eq!(after, expected);
            prop_assert_eq!(RetryDecision::GiveUp.not_before(requested), RetryDecision::GiveUp);
        }

        #[test]
        fn effect_is_given_up_only_after_max_attempts_or_a_permanent_failure(
            bits in any::<u128>(),
            attempts in any::<u32>(),
        ) {
            let gives_up = |failure| RetryDecision::decide(id(bits), attempts, failure) == RetryDecision::GiveUp;
            prop_assert_eq!(gives_up(FailureClass::Transient), attempts >= MAX_ATTEMPTS);
            prop_assert!(gives_up(FailureClass::Permanent));
        }
    }
}
