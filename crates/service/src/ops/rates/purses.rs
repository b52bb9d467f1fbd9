//! The purses of a replica: bounded, however many keys there are.

use std::collections::HashMap;
use std::sync::Arc;

use guildhall_domain::ops::rate::{Key, Tier};

use super::Slot;

/// Purses of one generation, of which there are two: some megabytes. Whoever signs in from ever new addresses cannot
/// make it more.
const GENERATION: usize = 10_000;

/// The purses that were asked for lately, and those that were before. When the young are many, the old are forgotten:
/// what was in them is lost, never spent twice.
#[derive(Debug, Default)]
pub(super) struct Purses {
    young: HashMap<(Tier, Key), Arc<Slot>>,
    old: HashMap<(Tier, Key), Arc<Slot>>,
}

impl Purses {
    /// Returns the slot of a key, a new one if it is not remembered.
    pub(super) fn of(&mut self, tier: Tier, key: Key) -> Arc<Slot> {
        if let Some(slot) = self.young.get(&(tier, key)) {
            return Arc::clone(slot);
        }
        let slot = self.old.remove(&(tier, key)).unwrap_or_default();
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert((tier, key), Arc::clone(&slot));
        slot
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::ids::PrincipalId;

    use super::*;

    #[test]
    fn many_keys_are_forgotten_in_turn_and_the_busy_are_not() {
        let (mut purses, busy) = (Purses::default(), Key::Principal(PrincipalId::generate()));
        let kept = purses.of(Tier::Read, busy);
        let idle = Key::of_address([198, 51, 100, 1].into());
        let forgotten = purses.of(Tier::SignIn, idle);
        for number in 0..5 * u32::try_from(GENERATION).expect("small") {
            purses.of(Tier::SignIn, Key::of_address(std::net::Ipv4Addr::from(number).into()));
            if number % 1000 == 0 {
                assert!(Arc::ptr_eq(&kept, &purses.of(Tier::Read, busy)), "a busy purse was lost");
            }
            assert!(purses.young.len() + purses.old.len() <= 2 * GENERATION);
        }
        assert!(!Arc::ptr_eq(&forgotten, &purses.of(Tier::SignIn, idle)), "an idle purse is kept for ever");
    }

    #[test]
    fn tiers_of_one_key_have_purses_of_their_own() {
        let (mut purses, key) = (Purses::default(), Key::Principal(PrincipalId::generate()));
        assert!(!Arc::ptr_eq(&purses.of(Tier::Read, key), &purses.of(Tier::Mutation, key)));
    }
}
