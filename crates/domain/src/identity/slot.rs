//! Which client of an AID a connection belongs to: a device, and a slot on it.

/// The longest id of a device or a slot.
const MAX_LENGTH: usize = 128;

/// Characters after which clients write a label for people.
const SEPARATORS: [char; 3] = ['/', ':', ' '];

/// The text is not the id of a device or a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid device or slot: expected at most {MAX_LENGTH} printable ASCII characters")]
pub struct InvalidClientSlot;

/// A device and a slot. Both may be empty: a client without them is the only one of its AID.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ClientSlot {
    device: String,
    slot: String,
}

impl ClientSlot {
    pub fn new(device: &str, slot: &str) -> Result<Self, InvalidClientSlot> {
        let is_valid =
            |text: &str| text.len() <= MAX_LENGTH && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        if !is_valid(device) || !is_valid(slot) {
            return Err(InvalidClientSlot);
        }
        Ok(Self { device: device.to_owned(), slot: slot.to_owned() })
    }

    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Returns the slot as the client wrote it, with its label.
    #[must_use]
    pub fn slot(&self) -> &str {
        &self.slot
    }

    /// Returns the part of the slot that separates clients.
    #[must_use]
    pub fn slot_key(&self) -> &str {
        self.slot.split(SEPARATORS).next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_of_a_slot_separates_no_clients() {
        for (slot, key) in [("", ""), ("default", "default"), ("a/work", "a"), ("a:b/c", "a"), ("a b", "a")] {
            let parsed = ClientSlot::new("device-1", slot).expect("a slot");
            assert_eq!((parsed.device(), parsed.slot(), parsed.slot_key()), ("device-1", slot, key));
        }
    }

    #[test]
    fn long_and_unprintable_ids_are_rejected() {
        let longest = "x".repeat(MAX_LENGTH);
        assert!(ClientSlot::new(&longest, &longest).is_ok());
        for text in [format!("{longest}x"), "a\nb".to_owned(), "ä".to_owned(), "\0".to_owned()] {
            assert_eq!(ClientSlot::new(&text, ""), Err(InvalidClientSlot));
            assert_eq!(ClientSlot::new("", &text), Err(InvalidClientSlot));
        }
    }
}
