//! Size and random seed of a fault-injection test: small in CI, full under `cargo xtask long`.

use std::time::Duration;

/// The number of rounds of a test and a reproducible random number generator.
#[derive(Debug)]
pub struct Rounds {
    size: u32,
    seed: u64,
    state: u64,
}

impl Rounds {
    /// Reads size and seed that `cargo xtask long` sets; otherwise the default size and a fixed seed.
    #[must_use]
    pub fn from_env(default_size: u32) -> Self {
        let size = env_var("GUILDHALL_LONG_SIZE").and_then(|text| text.parse().ok()).unwrap_or(default_size);
        let seed = env_var("GUILDHALL_LONG_SEED").and_then(|text| text.parse().ok()).unwrap_or(1);
        Self { size, seed, state: seed }
    }

    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the seed, for messages of failed tests.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns an independent generator, for a concurrent task.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self { size: self.size, seed: self.seed, state: self.random() }
    }

    /// Returns the next random number (SplitMix64: small and the same on every machine).
    pub fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a random duration below a limit, in whole milliseconds.
    pub fn random_duration(&mut self, below: Duration) -> Duration {
        let millis = u64::try_from(below.as_millis()).unwrap_or(u64::MAX).max(1);
        Duration::from_millis(self.random() % millis)
    }

    /// Returns `size` items: each of `kinds` before any of them again, in random order.
    ///
    /// # Panics
    /// If there are more kinds than rounds: then a kind would not occur.
    pub fn shuffled_deck<T: Copy>(&mut self, kinds: &[T]) -> Vec<T> {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        assert!(kinds.len() <= size, "{size} rounds are too few for {} kinds", kinds.len());
        let mut deck = Vec::new();
        while deck.len() < size {
            let mut hand = kinds.to_vec();
            self.shuffle(&mut hand);
            deck.extend(hand);
        }
        deck.truncate(size);
        deck
    }

    /// Shuffles items (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.random_index(last + 1));
        }
    }

    /// Returns a random number below `count`.
    pub fn random_index(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.random() % count).unwrap_or(0)
    }

    /// Passes the report to `cargo xtask long`, which writes it under docs/measured.
    pub fn report(&self, text: &str) {
        if let Some(path) = std::env::var_os("GUILDHALL_LONG_REPORT") {
            std::fs::write(path, text).expect("the report is written");
        }
    }
}

fn env_var(name: &str) -> Option<String> {
    std::env::var_os(name)?.into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deck_holds_every_kind_for_any_seed() {
        for seed in 0..100 {
            let mut rounds = Rounds { size: 7, seed, state: seed };
            let deck = rounds.shuffled_deck(&["server", "server", "postgres", "nats"]);
            assert_eq!(deck.len(), 7);
            for kind in ["server", "postgres", "nats"] {
                assert!(deck[..4].contains(&kind), "seed {seed}: {deck:?}");
            }
        }
    }
}
