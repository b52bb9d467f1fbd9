//! What passes on as it is: named so that an event may have the name, and bounded.

use serde_json::{Value, json};

use super::BackendEvent;

/// What passes on as it is, is bounded: a batch of events holds 256 KiB.
const PAYLOAD_BYTES_AT_MOST: usize = 64 * 1024;

/// The longest name of an event's type.
const KIND_BYTES_AT_MOST: usize = 64;

/// Passes on what we do not know, under a name that an event may have: `codex` and `item/newThing` make
/// `codex_item_new_thing`.
pub(super) fn other(backend: &str, method: &str, payload: Value) -> BackendEvent {
    let mut kind = String::from(backend);
    let mut apart = true;
    for character in method.chars() {
        let is_plain = character.is_ascii_alphanumeric();
        if (apart || character.is_ascii_uppercase() || !is_plain) && !kind.ends_with('_') {
            kind.push('_');
        }
        if is_plain {
            kind.push(character.to_ascii_lowercase());
        }
        apart = !is_plain;
    }
    kind.truncate(KIND_BYTES_AT_MOST);
    BackendEvent::Other { kind, payload: bounded(payload) }
}

/// Returns what may be kept of a payload: all of it, or its size.
pub(super) fn bounded(payload: Value) -> Value {
    match payload.to_string().len() {
        ..=PAYLOAD_BYTES_AT_MOST => payload,
        bytes => json!({ "truncated": true, "bytes": bytes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_payload_is_named_by_its_size() {
        let payload = json!({ "text": "x".repeat(PAYLOAD_BYTES_AT_MOST) });
        let bytes = payload.to_string().len();
        assert_eq!(bounded(payload), json!({ "truncated": true, "bytes": bytes }));
    }
}
