//! The local permits of a replica, by key. Bounded, however many keys there are.

use std::collections::HashMap;
use std::sync::Arc;

use guildhall_domain::ops::rate::{RateKey, Tier};

use super::Slot;

/// Slots in one of the two generations: some megabytes in all. Requests from ever new addresses cannot exceed it.
const GENERATION: usize = 10_000;

/// Slots used recently (young) and before (old). When the young generation is full, the old one is dropped: its permits
/// are lost, never spent twice.
#[derive(Debug, Default)]
pub(super) struct PermitPool {
    young: HashMap<(Tier, RateKey), Arc<Slot>>,
    old: HashMap<(Tier, RateKey), Arc<Slot>>,
}

impl PermitPool {
    /// Returns the slot of a key, creating it if needed.
    pub(super) fn slot(&mut self, tier: Tier, key: RateKey) -> Arc<Slot> {
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
    fn idle_keys_are_evicted_and_busy_keys_are_kept() {
        let (mut pool, busy) = (PermitPool::default(), RateKey::Principal(PrincipalId::generate()));
        let kept = pool.slot(Tier::Read, busy);
        let idle = RateKey::from_address([198, 51, 100, 1].into());
        let forgotten = pool.slot(Tier::SignIn, idle);
        for number in 0..5 * u32::try_from(GENERATION).expect("small") {
            pool.slot(Tier::SignIn, RateKey::from_address(std::net::Ipv4Addr::from(number).into()));
            if number % 1000 == 0 {
                assert!(Arc::ptr_eq(&kept, &pool.slot(Tier::Read, busy)), "a busy slot was evicted");
            }
            assert!(pool.young.len() + pool.old.len() <= 2 * GENERATION);
        }
        assert!(!Arc::ptr_eq(&forgotten, &pool.slot(Tier::SignIn, idle)), "an idle slot was never evicted");
    }

    #[test]
    fn tiers_of_one_key_have_separate_slots() {
        let (mut pool, key) = (PermitPool::default(), RateKey::Principal(PrincipalId::generate()));
        assert!(!Arc::ptr_eq(&pool.slot(Tier::Read, key), &pool.slot(Tier::Mutation, key)));
    }
}
