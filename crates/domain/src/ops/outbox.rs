//! Effects on the world outside: when one that failed is tried again, and when it is given up.

use std::time::Duration;

use crate::ids::EffectId;

/// Attempts at one effect. With the waits below, the last comes six to eight hours after the first.
pub const ATTEMPTS_AT_MOST: u32 = 20;

/// The wait after the first failure; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// No wait is longer: what comes back shall not wait for half a day more.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// What a failed attempt says of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The same attempt may succeed later.
    Passing,
    /// It would fail again, however often it is tried.
    Lasting,
}

/// What becomes of an effect after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Retry { after: Duration },
    GiveUp,
}

impl Next {
    /// Decides after the failure of attempt number `attempts`, counted from 1.
    #[must_use]
    pub fn decide(id: EffectId, attempts: u32, fault: Fault) -> Self {
        match fault {
            Fault::Lasting => Self::GiveUp,
            Fault::Passing if attempts >= ATTEMPTS_AT_MOST => Self::GiveUp,
            Fault::Passing => Self::Retry { after: wait(id, attempts) },
        }
    }
}

/// Returns a wait between three quarters and the whole of the doubled one. Which, is drawn from the id: those that
/// failed together do not come back together, and the rule stays a rule.
fn wait(id: EffectId, attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(1).min(31);
    let whole = FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT);
    // Ids made in a row differ little; the multiplication spreads every bit into the ten highest.
    let (_, bits) = id.as_uuid().as_u64_pair();
    let drawn = (bits ^ u64::from(attempts)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    whole - (whole / 4).mul_f64(drawn as f64 / 1024.0)
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
        let waits = (1..ATTEMPTS_AT_MOST).map(|attempts| match Next::decide(id, attempts, Fault::Passing) {
            Next::Retry { after } => after,
            Next::GiveUp => panic!("given up after attempt {attempts}"),
        });
        waits.collect()
    }

    #[test]
    fn effects_that_failed_together_do_not_come_back_together() {
        let ids = (0..1000).map(|_| EffectId::generate());
        let mut after: Vec<_> = ids.map(|id| waits(id)[9]).collect();
        after.sort_unstable();
        after.dedup();
        assert!(after.len() > 300, "only {} different waits", after.len());
    }

    proptest! {
        #[test]
        fn waits_grow_and_stay_within_their_bounds(bits in any::<u128>()) {
            let waits = waits(id(bits));
            prop_assert!(waits.iter().all(|wait| *wait >= FIRST_WAIT * 3 / 4 && *wait <= LONGEST_WAIT));
            let doubling = waits.iter().filter(|wait| **wait < LONGEST_WAIT * 3 / 4).collect::<Vec<_>>();
            prop_assert!(doubling.is_sorted(), "{waits:?}");
            // Twelve doublings, then an hour each.
            let (total, whole) = (waits.iter().sum::<Duration>(), Duration::from_secs(4095 + 7 * 3600));
            prop_assert!(total <= whole && total >= whole * 3 / 4, "{total:?}");
        }

        #[test]
        fn an_effect_is_given_up_after_its_last_attempt_or_a_lasting_fault_and_never_before(
            bits in any::<u128>(),
            attempts in any::<u32>(),
        ) {
            let gives_up = |fault| Next::decide(id(bits), attempts, fault) == Next::GiveUp;
            prop_assert_eq!(gives_up(Fault::Passing), attempts >= ATTEMPTS_AT_MOST);
            prop_assert!(gives_up(Fault::Lasting));
        }
    }
}
