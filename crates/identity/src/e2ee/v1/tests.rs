//! Envelopes as a server checks them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::EnvelopeError;
use super::super::vectors::{ALICE, BOBBY, certificate, changed, envelope};
use super::*;
use crate::pki::ParsedCertificate;

const NAMES: [&str; 2] = ["v1_prekey_ecdh_v2", "v1_long_term_key"];

/// What the server of Alice and Bobby knows.
struct Server {
    alice: ParsedCertificate,
    bobby: ParsedCertificate,
}

impl Server {
    fn new() -> Self {
        Self { alice: certificate(ALICE), bobby: certificate(BOBBY) }
    }

    fn check(&self, text: &str) -> Result<V1Envelope, EnvelopeError> {
        let envelope = V1Envelope::parse(text)?;
        self.with_expected(|expected| check_v1_envelope(&envelope, &expected.copy)).map(|()| envelope)
    }

    fn check_multi_device(&self, text: &str) -> Result<V1MultiDevice, EnvelopeError> {
        let message = V1MultiDevice::parse(text)?;
        self.with_expected(|expected| check_v1_multi_device(&message, expected)).map(|()| message)
    }

    fn with_expected<T>(&self, check: impl FnOnce(&V1MultiDeviceExpected<'_>) -> T) -> T {
        let reader = KnownKeys { certificates: &[self.bobby.fingerprint], prekeys: &[("dev-b", "prekey-1")] };
        let own = KnownKeys { certificates: &[self.alice.fingerprint], prekeys: &[] };
        let copy = V1Expected { sender: &self.alice, to: BOBBY, message_id: "m-1", reader };
        check(&V1MultiDeviceExpected { copy, own })
    }
}

#[test]
fn messages_that_official_clients_open_are_accepted() {
    for name in NAMES {
        let text = envelope(name).to_string();
        let checked = Server::new().check(&text).expect("accepted");
        assert_eq!(Ok(&checked), V1Envelope::parse(&text).as_ref());
        let written: Value = serde_json::from_str(&checked.to_text()).expect("JSON");
        assert_eq!(written, envelope(name));
    }
}

#[test]
fn envelope_of_another_message_sender_or_recipient_is_refused() {
    use EnvelopeError::{Member, Mismatch, Signature, UnknownRecipient, Unsupported};
    let zeros = format!("sha256:{}", "0".repeat(64));
    for (pointer, value, expected) in [
        ("/aad/from", json!("mallory.guild.test"), Mismatch("aad.from")),
        ("/aad/to", json!("mallory.guild.test"), Mismatch("aad.to")),
        ("/aad/message_id", json!("m-2"), Mismatch("aad.message_id")),
        ("/aad/encryption_mode", json!("long_term_key"), Member("prekey_id")),
        ("/aad/prekey_id", json!("prekey-2"), Mismatch("encryption_mode")),
        ("/prekey_id", json!("prekey-2"), Mismatch("encryption_mode")),
        ("/encryption_mode", json!("none"), Unsupported("encryption_mode")),
        ("/ephemeral_public_key", json!(""), Mismatch("ephemeral_public_key")),
        ("/aad/ephemeral_public_key", json!(""), Member("ephemeral_public_key")),
        ("/sender_cert_fingerprint", json!(zeros), Mismatch("sender_cert_fingerprint")),
        ("/aad/recipient_cert_fingerprint", json!(zeros), UnknownRecipient { row: 0 }),
        ("/suite", json!("NULL"), Unsupported("suite")),
        ("/aad/suite", json!("NULL"), Unsupported("suite")),
        ("/type", json!("text"), Unsupported("type")),
        ("/version", json!("2"), Unsupported("version")),
        ("/aad/timestamp", json!(1), Signature),
        ("/aad/timestamp", json!("1"), Member("timestamp")),
        ("/sender_signature", json!("AAAA"), Signature),
        ("/tag", json!("AAAA"), Member("tag")),
    ] {
        let text = changed("v1_prekey_ecdh_v2", pointer, value);
        assert_eq!(Server::new().check(&text), Err(expected), "{pointer}");
    }
}

#[test]
fn envelope_of_another_certificate_is_refused() {
    let renewed = ParsedCertificate { fingerprint: certificate(BOBBY).fingerprint, ..certificate(ALICE) };
    let server = Server { alice: renewed, ..Server::new() };
    let text = envelope("v1_long_term_key").to_string();
    assert_eq!(server.check(&text), Err(EnvelopeError::SenderCertificate));
}

fn multi_device(recipient_copies: Value, self_copies: Value) -> String {
    json!({
        "type": "e2ee.multi_device", "logical_message_id": "m-1", "new": 1.50,
        "recipient_copies": recipient_copies, "self_copies": self_copies,
    })
    .to_string()
}

fn copy(device: &str, name: &str) -> Value {
    json!({ "device_id": device, "envelope": envelope(name) })
}

#[test]
fn copies_of_a_message_are_checked_one_by_one() {
    let server = Server::new();
    let [prekey, long_term] = NAMES;
    let text = multi_device(json!([copy("dev-b", prekey), copy("dev-c", long_term)]), json!([]));
    let checked = server.check_multi_device(&text).expect("accepted");
    let devices: Vec<&str> = checked.recipient_copies.iter().map(|copy| copy.device_id.as_str()).collect();
    assert_eq!(devices, ["dev-b", "dev-c"]);
    assert_eq!(serde_json::from_str::<Value>(&checked.to_text()).ok(), serde_json::from_str(&text).ok());

    for (copies, own, expected) in [
        (json!([]), json!([]), EnvelopeError::RecipientCount),
        (json!([copy("dev-b", prekey), copy("dev-b", prekey)]), json!([]), EnvelopeError::RecipientOrder),
        // The prekey of another device.
        (
            json!([copy("dev-b", prekey), copy("dev-c", prekey)]),
            json!([]),
            EnvelopeError::UnknownRecipient { row: 1 },
        ),
        // A copy for the sender must be for the sender's certificate.
        (
            json!([copy("dev-b", prekey)]),
            json!([copy("dev-a2", long_term)]),
            EnvelopeError::UnknownRecipient { row: 1 },
        ),
        (json!([{ "device_id": "dev-b" }]), json!([]), EnvelopeError::Member("envelope")),
    ] {
        assert_eq!(server.check_multi_device(&multi_device(copies, own)), Err(expected));
    }
    let mut other: Value = serde_json::from_str(&text).expect("JSON");
    other["logical_message_id"] = json!("m-2");
    let mismatch = EnvelopeError::Mismatch("logical_message_id");
    assert_eq!(server.check_multi_device(&other.to_string()), Err(mismatch));
}

proptest! {
    #[test]
    fn changed_character_is_refused_unless_nothing_signed_changes(name in prop::sample::select(&NAMES), at in any::<prop::sample::Index>(), replacement in "[A-Za-z0-9+/=\"{}: -]") {
        let (server, text) = (Server::new(), envelope(name).to_string());
        let original = server.check(&text).expect("accepted");
        let at = at.index(text.len());
        prop_assume!(text.get(at..=at).is_some_and(|character| character != replacement));
        let changed = format!("{}{replacement}{}", &text[..at], &text[at + 1..]);
        if let Ok(accepted) = server.check(&changed) {
            prop_assert_eq!(accepted.signed_bytes(), original.signed_bytes());
        }
    }

    #[test]
    fn any_text_is_refused_without_panic(text in any::<String>()) {
        prop_assert!(V1Envelope::parse(&text).is_err());
        prop_assert!(V1MultiDevice::parse(&text).is_err());
    }
}
