//! Permits of one key that a replica holds in memory.

use std::time::{Duration, Instant};

use super::Rate;

/// A block of permits from the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermitBlock {
    /// Zero if the window is used up.
    pub permits: u32,
    /// Permits of the window handed out to all replicas, including these.
    pub handed_out: u32,
    /// The permits are valid until then: the window is certainly still open.
    pub valid_until: Instant,
    /// From then on the window is certainly over. It is later than `valid_until`, because the clock of the store is
    /// remote.
    pub expired_at: Instant,
}

/// State of a rate limit as known to this replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateStatus {
    pub limit: u32,
    /// Permits of this replica plus those not handed out at its last request. Other replicas may have borrowed since.
    pub remaining: u32,
    /// After this time the full limit is available again.
    pub resets_in: Duration,
}

impl RateStatus {
    /// Returns the seconds until the reset, rounded up so that waiting that long is enough.
    #[must_use]
    pub fn resets_in_seconds(&self) -> u64 {
        self.resets_in.as_secs() + u64::from(self.resets_in.subsec_nanos() > 0)
    }
}

/// Result of spending permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendResult {
    Allowed(RateStatus),
    /// Fewer permits are left on all replicas.
    Limited(RateStatus),
    /// Too few local permits: borrow this many from the store and try again.
    Borrow {
        permits: u32,
    },
}

/// The permits of one key that a replica holds. They are lost when it is dropped.
#[derive(Debug, Default)]
pub struct LocalPermits(Option<PermitBlock>);

impl LocalPermits {
    /// Spends permits if possible: all of them or none.
    pub fn spend(&mut self, rate: Rate, amount: u32, now: Instant) -> SpendResult {
        let Some(held) = self.0.as_mut().filter(|held| now < held.valid_until) else {
            return SpendResult::Borrow { permits: rate.block_size(0).max(amount) };
        };
        let unborrowed = rate.permits().saturating_sub(held.handed_out);
        let status = |left: u32| RateStatus {
            limit: rate.permits(),
            remaining: left.saturating_add(unborrowed),
            resets_in: held.expired_at.duration_since(now),
        };
        match held.permits.checked_sub(amount) {
            Some(left) => {
                let result = SpendResult::Allowed(status(left));
                held.permits = left;
                result
            }
            None if held.permits.saturating_add(unborrowed) < amount => {
                SpendResult::Limited(status(held.permits))
            }
            None => {
                let missing = amount.saturating_sub(held.permits);
                SpendResult::Borrow { permits: rate.block_size(held.handed_out).max(missing) }
            }
        }
    }

    /// Stores a borrowed block. Permits of the same window are kept; those of an earlier one are invalid.
    pub fn fill(&mut self, block: PermitBlock, now: Instant) {
        let kept = self.0.filter(|held| now < held.valid_until).map_or(0, |held| held.permits);
        self.0 = Some(PermitBlock { permits: block.permits.saturating_add(kept), ..block });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A window as kept by the store: the logic of the SQL statement in `store`.
    struct Window {
        rate: Rate,
        handed_out: u32,
        valid_until: Instant,
        expired_at: Instant,
    }

    impl Window {
        fn new(rate: &str) -> Self {
            let valid_until = Instant::now() + Duration::from_secs(3600);
            let expired_at = valid_until + Duration::from_millis(5);
            Self { rate: rate.parse().expect(rate), handed_out: 0, valid_until, expired_at }
        }

        fn borrow(&mut self, requested: u32) -> PermitBlock {
            let permits = requested.min(self.rate.permits() - self.handed_out);
            self.handed_out += permits;
            PermitBlock {
                permits,
                handed_out: self.handed_out,
                valid_until: self.valid_until,
                expired_at: self.expired_at,
            }
        }

        /// Handles a request at a replica. Returns whether it is allowed.
        fn request(&mut self, local: &mut LocalPermits, now: Instant) -> bool {
            self.request_many(local, 1, now)
        }

        fn request_many(&mut self, local: &mut LocalPermits, amount: u32, now: Instant) -> bool {
            for _ in 0..2 {
                match local.spend(self.rate, amount, now) {
                    SpendResult::Allowed(_) => return true,
                    SpendResult::Limited(_) => return false,
                    SpendResult::Borrow { permits } => local.fill(self.borrow(permits), now),
                }
            }
            // The store had fewer permits than this replica thought.
            let result = local.spend(self.rate, amount, now);
            assert!(matches!(result, SpendResult::Limited(_)), "borrowed twice: {result:?}");
            false
        }
    }

    #[test]
    fn remaining_counts_down_and_resets_with_the_window() {
        let (mut window, mut local, now) = (Window::new("3/60s"), LocalPermits::default(), Instant::now());
        let mut seen = Vec::new();
        for _ in 0..3 {
            assert_eq!(local.spend(window.rate, 1, now), SpendResult::Borrow { permits: 1 });
            local.fill(window.borrow(1), now);
            let SpendResult::Allowed(status) = local.spend(window.rate, 1, now) else { panic!("no permit") };
            seen.push((status.limit, status.remaining));
        }
        assert_eq!(seen, [(3, 2), (3, 1), (3, 0)]);
        let resets_in = window.expired_at.duration_since(now);
        let limited = RateStatus { limit: 3, remaining: 0, resets_in };
        assert_eq!(local.spend(window.rate, 1, now), SpendResult::Limited(limited));
        assert_eq!(
            local.spend(window.rate, 1, window.valid_until),
            SpendResult::Borrow { permits: 1 },
            "a new window"
        );
    }

    #[test]
    fn permits_of_an_ended_window_are_not_spent_in_the_next() {
        let (mut window, mut local) = (Window::new("160/60s"), LocalPermits::default());
        let SpendResult::Borrow { permits } = local.spend(window.rate, 1, Instant::now()) else {
            panic!("held")
        };
        local.fill(window.borrow(permits), Instant::now());
        assert!(matches!(local.spend(window.rate, 1, Instant::now()), SpendResult::Allowed(_)));
        assert_eq!(local.spend(window.rate, 1, window.valid_until), SpendResult::Borrow { permits: 10 });
    }

    #[test]
    fn seconds_until_reset_are_rounded_up() {
        let seconds = |resets_in| RateStatus { limit: 1, remaining: 0, resets_in }.resets_in_seconds();
        let nano = Duration::from_nanos(1);
        assert_eq!(
            (seconds(nano), seconds(Duration::from_secs(2)), seconds(Duration::from_secs(2) + nano)),
            (1, 2, 3)
        );
    }

    proptest! {
        /// Requests arrive at random replicas, and replicas are killed at random times.
        #[test]
        fn total_over_all_replicas_never_exceeds_the_limit(
            permits in 1u32..2000,
            requests in proptest::collection::vec((0usize..4, 0u32..50), 1..4000),
        ) {
            let mut window = Window::new(&format!("{permits}/60s"));
            let (mut replicas, now) = ([const { LocalPermits(None) }; 4], Instant::now());
            let mut allowed = 0;
            for (replica, kill) in requests {
                if kill == 0 {
                    replicas[replica] = LocalPermits::default();
                }
                allowed += u32::from(window.request(&mut replicas[replica], now));
            }
            prop_assert!(allowed <= permits && window.handed_out <= permits);
        }

        /// Requests of different sizes never exceed the limit, and a request that fits into what is left is allowed.
        #[test]
        fn total_of_large_requests_never_exceeds_the_limit(
            permits in 1u32..20_000,
            requests in proptest::collection::vec((0usize..2, 0u32..3000, 0u32..100), 1..300),
        ) {
            let mut window = Window::new(&format!("{permits}/60s"));
            let (mut replicas, now) = ([const { LocalPermits(None) }; 2], Instant::now());
            let mut spent = 0;
            for (replica, amount, kill) in requests {
                if kill == 0 {
                    replicas[replica] = LocalPermits::default();
                }
                let held = replicas[replica].0.map_or(0, |held| held.permits);
                let available = held + permits - window.handed_out;
                let allowed = window.request_many(&mut replicas[replica], amount, now);
                prop_assert_eq!(allowed, amount <= available, "{} of {}", amount, available);
                spent += if allowed { amount } else { 0 };
                prop_assert!(spent <= permits && window.handed_out <= permits);
            }
        }

        /// Without kills, the replicas together allow exactly the limit.
        #[test]
        fn full_limit_is_used_when_no_replica_is_killed(
            permits in 1u32..2000, order in proptest::collection::vec(0usize..3, 0..3000),
        ) {
            let mut window = Window::new(&format!("{permits}/60s"));
            let (mut replicas, now) = ([const { LocalPermits(None) }; 3], Instant::now());
            let mut allowed = 0;
            for replica in order {
                allowed += u32::from(window.request(&mut replicas[replica], now));
            }
            for local in &mut replicas {
                while window.request(local, now) {
                    allowed += 1;
                }
            }
            prop_assert_eq!(allowed, permits);
        }

        /// A killed replica loses at most one block.
        #[test]
        fn killed_replica_loses_at_most_one_block(permits in 1u32..5000, before in 0u32..5000) {
            let mut window = Window::new(&format!("{permits}/60s"));
            let (mut killed, mut other, now) = (LocalPermits::default(), LocalPermits::default(), Instant::now());
            let mut allowed = (0..before).filter(|_| window.request(&mut killed, now)).count();
            // The replica is killed here.
            while window.request(&mut other, now) {
                allowed += 1;
            }
            let lost = permits - u32::try_from(allowed).expect("few");
            prop_assert!(lost < window.rate.block_size(0).max(2), "{} were lost", lost);
        }
    }
}
