//! Messages that are sealed and opened.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::agreement::AgreementKey;
use super::super::exact_json::{ExactJson, JsonObject};
use super::super::vectors::{self, ALICE, BOBBY, agreement_key, certificate, envelope, identity_key};
use super::super::{EnvelopeError, OpenError, SealingError};
use super::seal::V1Randomness;
use super::*;

const NAMES: [&str; 2] = ["v1_prekey_ecdh_v2", "v1_long_term_key"];

fn object(value: &Value) -> JsonObject {
    ExactJson::parse_object(&value.to_string()).expect("an object")
}

/// Opens a message as Bobby.
fn open(text: &str) -> Result<Value, OpenError> {
    let (bobby, prekey) = (identity_key("bobby"), agreement_key("prekey"));
    let reader = V1Reader { identity: &bobby, prekey: Some(&prekey) };
    let opened = V1Envelope::parse(text)?.open(&reader, &certificate(ALICE))?;
    Ok(serde_json::from_str(&opened).expect("JSON"))
}

fn message<'a>(from: &'a crate::pki::ParsedCertificate, payload: &'a JsonObject) -> V1Message<'a> {
    V1Message { from, to: BOBBY, message_id: "m-1", timestamp_ms: 1_700_000_000_000, payload }
}

#[test]
fn messages_of_the_published_format_are_opened() {
    for name in NAMES {
        assert_eq!(
            open(&envelope(name).to_string()),
            Ok(json!({ "type": "text", "text": "hi €ü 你好" })),
            "{name}"
        );
    }
}

#[test]
fn same_secrets_give_the_published_messages() {
    let (alice, bobby, payload) = (certificate(ALICE), certificate(BOBBY), vectors::payload());
    let prekey = agreement_key("prekey");
    for (name, prekey) in [(NAMES[0], Some(("prekey-1", prekey.public_key()))), (NAMES[1], None)] {
        let mut published = V1Envelope::parse(&envelope(name).to_string()).expect("an envelope");
        let randomness = V1Randomness { ephemeral: agreement_key("ephemeral"), nonce: published.nonce };
        let recipient = V1Recipient { certificate: &bobby, prekey };
        let sealed = message(&alice, &payload).seal_with(&randomness, &identity_key("alice"), &recipient);
        let sealed = sealed.expect("sealed");
        assert_eq!(sealed.verify_sender(&alice), Ok(()));
        published.sender_signature.clone_from(&sealed.sender_signature);
        // The order of keys is the writer's: only its own reader sees it.
        (published.ciphertext, published.tag) = (sealed.ciphertext.clone(), sealed.tag);
        assert_eq!(sealed, published, "{name}");
        assert_eq!(open(&sealed.to_text()), Ok(json!({ "type": "text", "text": "hi €ü 你好" })));
    }
}

#[test]
fn message_for_another_key_or_of_another_sender_is_not_opened() {
    let (alice, bobby) = (identity_key("alice"), identity_key("bobby"));
    let other = AgreementKey::generate().expect("generated");
    let parsed = V1Envelope::parse(&envelope(NAMES[0]).to_string()).expect("an envelope");
    for (reader, expected) in [
        (V1Reader { identity: &bobby, prekey: None }, OpenError::UnknownKey),
        (V1Reader { identity: &bobby, prekey: Some(&other) }, OpenError::Ciphertext),
        (V1Reader { identity: &alice, prekey: Some(&agreement_key("prekey")) }, OpenError::Ciphertext),
    ] {
        assert_eq!(parsed.open(&reader, &certificate(ALICE)), Err(expected));
    }
    let reader = V1Reader { identity: &bobby, prekey: None };
    let forged = parsed.open(&reader, &certificate(BOBBY));
    assert_eq!(forged, Err(EnvelopeError::Mismatch("aad.from").into()));
}

#[test]
fn names_that_no_envelope_can_have_are_refused() {
    let (alice, bobby) = (certificate(ALICE), certificate(BOBBY));
    let payload = object(&json!({}));
    let recipient = V1Recipient { certificate: &bobby, prekey: None };
    let endless = "m".repeat(257);
    let message = V1Message { message_id: &endless, ..message(&alice, &payload) };
    assert_eq!(message.seal(&identity_key("alice"), &recipient), Err(SealingError::Names));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn recipient_opens_what_was_sealed(text in any::<String>(), with_prekey in any::<bool>()) {
        let (alice, bobby) = (certificate(ALICE), certificate(BOBBY));
        let payload = json!({ "type": text, "nested": { "list": [text, true, null, 1.5] } });
        let prekey = agreement_key("prekey");
        let recipient =
            V1Recipient { certificate: &bobby, prekey: with_prekey.then_some(("prekey-1", prekey.public_key())) };
        let payload_object = object(&payload);
        let sealed = message(&alice, &payload_object).seal(&identity_key("alice"), &recipient);
        prop_assert_eq!(open(&sealed.expect("sealed").to_text()), Ok(payload));
    }

    #[test]
    fn changed_byte_is_refused_or_changes_nothing(
        name in prop::sample::select(&NAMES), at in any::<prop::sample::Index>(), replacement in "[A-Za-z0-9+/=\"{}: -]"
    ) {
        let text = envelope(name).to_string();
        let at = at.index(text.len());
        prop_assume!(text.get(at..=at).is_some_and(|character| character != replacement));
        let changed = format!("{}{replacement}{}", &text[..at], &text[at + 1..]);
        if let Ok(opened) = open(&changed) {
            prop_assert_eq!(opened, json!({ "type": "text", "text": "hi €ü 你好" }));
        }
    }
}
