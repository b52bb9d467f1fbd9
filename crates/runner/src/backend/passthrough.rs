//! Events that are passed through: with a valid event type and a bounded payload.

use serde_json::{Value, json};

use super::event::BackendEvent;

/// A batch of events holds 256 KiB, so a payload must be smaller.
const MAX_PAYLOAD_BYTES: usize = 64 * 1024;

/// The maximum length of an event type.
const MAX_KIND_BYTES: usize = 64;

/// Passes an unknown message through. Its event type is derived from the method: `codex` and `item/newThing` become
/// `codex_item_new_thing`.
pub(super) fn passthrough_event(backend: &str, method: &str, payload: Value) -> BackendEvent {
    let mut kind = String::from(backend);
    let mut after_separator = true;
    for character in method.chars() {
        let is_plain = character.is_ascii_alphanumeric();
        if (after_separator || character.is_ascii_uppercase() || !is_plain) && !kind.ends_with('_') {
            kind.push('_');
        }
        if is_plain {
            kind.push(character.to_ascii_lowercase());
        }
        after_separator = !is_plain;
    }
    kind.truncate(MAX_KIND_BYTES);
    BackendEvent::Other { kind, payload: bound_payload(payload) }
}

/// Returns the payload, or only its size when it is too large.
pub(super) fn bound_payload(payload: Value) -> Value {
    match payload.to_string().len() {
        ..=MAX_PAYLOAD_BYTES => payload,
        bytes => json!({ "truncated": true, "bytes": bytes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_payload_is_replaced_by_its_size() {
        let payload = json!({ "text": "x".repeat(MAX_PAYLOAD_BYTES) });
        let bytes = payload.to_string().len();
        assert_eq!(bound_payload(payload), json!({ "truncated": true, "bytes": bytes }));
    }
}
