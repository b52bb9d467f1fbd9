//! How a message is delivered.

use std::time::Duration;

use crate::identity::{Aid, ClientSlot};
use crate::named_enum::named_enum;

/// How long messages of the mode `fanout` are kept at most, whatever is configured. The partitions of a longer time would be too
/// large, or too many.
pub const MAX_MESSAGE_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long messages of the mode `queue` can be read at most, whatever is configured: their table is not logged, and meant for minutes.
pub const MAX_QUEUE_LIFETIME: Duration = Duration::from_secs(3600);

/// Messages of the mode `queue` that an inbox keeps. Further ones drop the oldest.
pub const RING_SIZE: u32 = 200;

named_enum! {
    /// How a message is delivered.
    DeliveryMode, "delivery mode";
    /// Stored until it expires, for every device of the recipient.
    Fanout = "fanout",
    /// Kept for minutes in a ring, for one instance of the recipient.
    Queue = "queue",
}

/// Picks the instance that gets the messages of a sender: the same one for as long as it is there (rendezvous hash). When
/// an instance comes or goes, only the senders that it gets or had are moved.
#[must_use]
pub fn preferred_instance<'a>(
    sender: &Aid,
    instances: impl IntoIterator<Item = &'a ClientSlot>,
) -> Option<&'a ClientSlot> {
    let sender = sender.to_string();
    instances.into_iter().max_by_key(|instance| (weight(&sender, instance), *instance))
}

/// Returns the weight of an instance for a sender: the same on every replica, in every version.
fn weight(sender: &str, instance: &ClientSlot) -> u64 {
    let parts = [sender.as_bytes(), instance.device().as_bytes(), instance.slot_key().as_bytes()];
    let bytes = parts.iter().flat_map(|part| part.iter().copied().chain(std::iter::once(0)));
    mix(bytes.fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)))
}

/// The constants of the 64-bit FNV-1a hash.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Spreads a hash over all bits (the finalizer of `SplitMix64`): names that differ in their last characters differ in the
/// low bits of FNV alone.
const fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sender(number: usize) -> Aid {
        format!("sender-{number}.guild.example").parse().expect("an AID")
    }

    fn instances(count: usize) -> Vec<ClientSlot> {
        (0..count).map(|number| ClientSlot::new(&format!("device-{number}"), "").expect("a slot")).collect()
    }

    #[test]
    fn senders_are_spread_over_the_instances() {
        let all = instances(4);
        let mut counts = [0_usize; 4];
        for number in 0..4_000 {
            let picked = preferred_instance(&sender(number), &all).expect("an instance");
            counts[all.iter().position(|instance| instance == picked).expect("one of them")] += 1;
        }
        assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
    }

    #[test]
    fn label_of_a_slot_moves_no_sender() {
        let plain = ClientSlot::new("device", "slot").expect("a slot");
        let labelled = ClientSlot::new("device", "slot/laptop").expect("a slot");
        assert_eq!(weight("a", &plain), weight("a", &labelled));
    }

    #[test]
    fn there_is_no_instance_among_none() {
        assert_eq!(preferred_instance(&sender(1), &[]), None);
    }

    proptest! {
        #[test]
        fn instance_that_goes_moves_only_its_own_senders(
            count in 2..12_usize, gone in any::<prop::sample::Index>(), number in 0..10_000_usize,
        ) {
            let all = instances(count);
            let gone = all[gone.index(count)].clone();
            let left: Vec<ClientSlot> = all.iter().filter(|instance| **instance != gone).cloned().collect();
            let before = preferred_instance(&sender(number), &all).expect("an instance");
            let after = preferred_instance(&sender(number), &left).expect("an instance");
            prop_assert!(*before == gone || before == after);
        }

        #[test]
        fn order_of_the_instances_does_not_matter(count in 1..12_usize, number in 0..10_000_usize) {
            let all = instances(count);
            let reversed: Vec<ClientSlot> = all.iter().rev().cloned().collect();
            prop_assert_eq!(preferred_instance(&sender(number), &all), preferred_instance(&sender(number), &reversed));
        }
    }
}
