//! What one replica holds of one key's permits.

use std::time::{Duration, Instant};

use super::Rate;

/// What the store said to a wish for a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lent {
    /// None when the window has no permit left.
    pub permits: u32,
    /// Permits of the window that are with anyone, these included.
    pub handed_out: u32,
    /// The window is surely open until then: its permits are good.
    pub ends_at: Instant,
    /// The window is surely over from then on. The store's clock is elsewhere, so a moment lies between the two.
    pub over_at: Instant,
}

/// Where a caller stands in the window, as far as this replica knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub limit: u32,
    /// What this replica holds, and what nobody had borrowed when it last asked. Others may have borrowed since.
    pub remaining: u32,
    /// Whoever waits that long finds all permits there again.
    pub resets_in: Duration,
}

impl Standing {
    /// Returns the whole seconds until the reset, rounded up: whoever waits that long has waited enough.
    #[must_use]
    pub fn resets_in_seconds(&self) -> u64 {
        self.resets_in.as_secs() + u64::from(self.resets_in.subsec_nanos() > 0)
    }
}

/// What came of a wish to spend a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    Permit(Standing),
    /// The window has none left, for anybody.
    Refused(Standing),
    /// The purse is empty: borrow so many, fill it, and try again.
    Borrow {
        permits: u32,
    },
}

/// The permits of one key that a replica holds. Dropping it loses them, and nothing else.
#[derive(Debug, Default)]
pub struct Purse(Option<Lent>);

impl Purse {
    /// Spends a permit, or says what is in the way.
    pub fn spend(&mut self, rate: Rate, now: Instant) -> Spent {
        let Some(held) = self.0.as_mut().filter(|held| now < held.ends_at) else {
            return Spent::Borrow { permits: rate.block(0) };
        };
        let not_lent = rate.permits().saturating_sub(held.handed_out);
        let standing = |left: u32| Standing {
            limit: rate.permits(),
            remaining: left.saturating_add(not_lent),
            resets_in: held.over_at.duration_since(now),
        };
        match held.permits.checked_sub(1) {
            Some(left) => {
                let spent = Spent::Permit(standing(left));
                held.permits = left;
                spent
            }
            None if not_lent == 0 => Spent::Refused(standing(0)),
            None => Spent::Borrow { permits: rate.block(held.handed_out) },
        }
    }

    /// Puts a block in. What was left of an earlier window is worth nothing any more.
    pub fn fill(&mut self, lent: Lent) {
        self.0 = Some(lent);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One window as the store keeps it: what the statement in `store` does, in Rust.
    struct Window {
        rate: Rate,
        handed_out: u32,
        ends_at: Instant,
        over_at: Instant,
    }

    impl Window {
        fn of(rate: &str) -> Self {
            let ends_at = Instant::now() + Duration::from_secs(3600);
            let over_at = ends_at + Duration::from_millis(5);
            Self { rate: rate.parse().expect(rate), handed_out: 0, ends_at, over_at }
        }

        fn lend(&mut self, wanted: u32) -> Lent {
            let permits = wanted.min(self.rate.permits() - self.handed_out);
            self.handed_out += permits;
            Lent { permits, handed_out: self.handed_out, ends_at: self.ends_at, over_at: self.over_at }
        }

        /// A request at a replica. Returns whether it got through.
        fn ask(&mut self, purse: &mut Purse, now: Instant) -> bool {
            for _ in 0..2 {
                match purse.spend(self.rate, now) {
                    Spent::Permit(_) => return true,
                    Spent::Refused(_) => return false,
                    Spent::Borrow { permits } => purse.fill(self.lend(permits)),
                }
            }
            panic!("borrowed twice for one permit");
        }
    }

    #[test]
    fn a_standing_counts_down_and_ends_with_the_window() {
        let (mut window, mut purse, now) = (Window::of("3/60s"), Purse::default(), Instant::now());
        let mut seen = Vec::new();
        for _ in 0..3 {
            assert_eq!(purse.spend(window.rate, now), Spent::Borrow { permits: 1 });
            purse.fill(window.lend(1));
            let Spent::Permit(standing) = purse.spend(window.rate, now) else { panic!("no permit") };
            seen.push((standing.limit, standing.remaining));
        }
        assert_eq!(seen, [(3, 2), (3, 1), (3, 0)]);
        let resets_in = window.over_at.duration_since(now);
        let refused = Standing { limit: 3, remaining: 0, resets_in };
        assert_eq!(purse.spend(window.rate, now), Spent::Refused(refused));
        assert_eq!(purse.spend(window.rate, window.ends_at), Spent::Borrow { permits: 1 }, "a new window");
    }

    #[test]
    fn what_is_left_of_an_ended_window_is_not_spent_in_the_next() {
        let (mut window, mut purse) = (Window::of("160/60s"), Purse::default());
        let Spent::Borrow { permits } = purse.spend(window.rate, Instant::now()) else { panic!("held") };
        purse.fill(window.lend(permits));
        assert!(matches!(purse.spend(window.rate, Instant::now()), Spent::Permit(_)));
        assert_eq!(purse.spend(window.rate, window.ends_at), Spent::Borrow { permits: 10 });
    }

    #[test]
    fn seconds_until_the_reset_are_rounded_up() {
        let seconds = |resets_in| Standing { limit: 1, remaining: 0, resets_in }.resets_in_seconds();
        let nano = Duration::from_nanos(1);
        assert_eq!(
            (seconds(nano), seconds(Duration::from_secs(2)), seconds(Duration::from_secs(2) + nano)),
            (1, 2, 3)
        );
    }

    proptest! {
        /// Whoever asks where and whoever is killed when: no more than the limit gets through.
        #[test]
        fn the_sum_over_all_replicas_never_exceeds_the_limit(
            permits in 1u32..2000,
            asks in proptest::collection::vec((0usize..4, 0u32..50), 1..4000),
        ) {
            let mut window = Window::of(&format!("{permits}/60s"));
            let (mut replicas, now) = ([const { Purse(None) }; 4], Instant::now());
            let mut through = 0;
            for (replica, fate) in asks {
                if fate == 0 {
                    replicas[replica] = Purse::default();
                }
                through += u32::from(window.ask(&mut replicas[replica], now));
            }
            prop_assert!(through <= permits && window.handed_out <= permits);
        }

        /// When nobody is killed, the replicas together let through the limit exactly, however it is divided.
        #[test]
        fn nothing_is_lost_while_all_live(permits in 1u32..2000, order in proptest::collection::vec(0usize..3, 0..3000)) {
            let mut window = Window::of(&format!("{permits}/60s"));
            let (mut replicas, now) = ([const { Purse(None) }; 3], Instant::now());
            let mut through = 0;
            for replica in order {
                through += u32::from(window.ask(&mut replicas[replica], now));
            }
            for purse in &mut replicas {
                while window.ask(purse, now) {
                    through += 1;
                }
            }
            prop_assert_eq!(through, permits);
        }

        /// A killed replica takes no more with it than its share of what was left when it borrowed.
        #[test]
        fn a_killed_replica_costs_at_most_a_block(permits in 1u32..5000, before in 0u32..5000) {
            let mut window = Window::of(&format!("{permits}/60s"));
            let (mut killed, mut other, now) = (Purse::default(), Purse::default(), Instant::now());
            let mut through = (0..before).filter(|_| window.ask(&mut killed, now)).count();
            // From here on nobody asks it any more.
            while window.ask(&mut other, now) {
                through += 1;
            }
            let lost = permits - u32::try_from(through).expect("few");
            prop_assert!(lost < window.rate.block(0).max(2), "{} were lost", lost);
        }
    }
}
