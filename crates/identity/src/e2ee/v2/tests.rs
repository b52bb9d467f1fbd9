//! Envelopes as a server checks them.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::vectors::{ALICE, BOBBY, SPK_ID, certificate, changed, envelope};
use super::super::{EnvelopeError, ExactJsonError, MAX_ENVELOPE_BYTES, key_fingerprint};
use super::*;
use crate::pki::{P256PublicKey, ParsedCertificate};

const NAMES: [&str; 3] = ["v2_3dh_device", "v2_1dh_device", "v2_1dh_aid"];

/// What the server of Alice and Bobby knows.
struct Server {
    alice: ParsedCertificate,
    bobby: ParsedCertificate,
}

impl Server {
    fn new() -> Self {
        Self { alice: certificate(ALICE), bobby: certificate(BOBBY) }
    }

    fn check(&self, text: &str) -> Result<V2Envelope, EnvelopeError> {
        self.check_for(text, &["dev-b"], None)
    }

    /// Checks a message for an AID with these devices, or for one of them.
    fn check_for(
        &self,
        text: &str,
        devices: &[&str],
        recipient_device: Option<&str>,
    ) -> Result<V2Envelope, EnvelopeError> {
        let device = |device_id| KnownDevice { device_id, spk_ids: &[SPK_ID] };
        let bobby: Vec<_> = devices.iter().copied().map(device).collect();
        let alice = [KnownDevice { device_id: "dev-a2", spk_ids: &[] }];
        let envelope = V2Envelope::parse(text)?;
        check_v2_envelope(
            &envelope,
            &V2Expected {
                sender: &self.alice,
                sender_device: "dev-a",
                message_id: Some("m-1"),
                recipient: KnownAid { aid: BOBBY, identity_key: &self.bobby.public_key, devices: &bobby },
                recipient_device,
                own: KnownAid { aid: ALICE, identity_key: &self.alice.public_key, devices: &alice },
            },
        )?;
        Ok(envelope)
    }
}

#[test]
fn messages_that_official_clients_open_are_accepted() {
    for name in NAMES {
        let text = envelope(name).to_string();
        let checked = Server::new().check(&text).expect("accepted");
        assert_eq!(Ok(&checked), V2Envelope::parse(&text).as_ref());
        let written: Value = serde_json::from_str(&checked.to_text()).expect("JSON");
        assert_eq!(written, envelope(name));
    }
}

#[test]
fn message_that_leaves_out_a_device_is_refused() {
    let server = Server::new();
    for (name, expected) in [
        ("v2_3dh_device", Err(EnvelopeError::MissingDevice)),
        ("v2_1dh_device", Err(EnvelopeError::MissingDevice)),
        // Its row is for every device.
        ("v2_1dh_aid", Ok(())),
    ] {
        let text = envelope(name).to_string();
        let check = |device| server.check_for(&text, &["dev-b", "dev-b2"], device).map(drop);
        assert_eq!(check(None), expected, "{name}");
        assert_eq!(check(Some("dev-b")), Ok(()), "{name}");
        assert_eq!(check(Some("dev-b2")), expected, "{name}");
    }
}

#[test]
fn unknown_members_are_kept() {
    let mut value = envelope("v2_3dh_device");
    value["need_render"] = json!(true);
    value["new"] = json!({ "number": 1.5, "list": [null] });
    let parsed = V2Envelope::parse(&value.to_string()).expect("an envelope");
    assert_eq!(serde_json::from_str::<Value>(&parsed.to_text()).expect("JSON"), value);
}

#[test]
fn envelope_of_another_message_sender_or_recipient_is_refused() {
    use EnvelopeError::{Member, Mismatch, SenderCertificate, UnknownRecipient, Unsupported};
    let mallory = "mallory.guild.test";
    for (pointer, value, expected) in [
        ("/aad/from", json!(mallory), Mismatch("aad.from")),
        ("/aad/from_device", json!("dev-x"), Mismatch("aad.from_device")),
        ("/aad/to", json!(mallory), Mismatch("aad.to")),
        ("/aad/message_id", json!("m-2"), Mismatch("aad.message_id")),
        ("/aad/wrap_protocol", json!("1DH"), Mismatch("aad.wrap_protocol")),
        ("/aad/wrap_protocol", json!("0DH"), Unsupported("aad.wrap_protocol")),
        ("/t_send", json!(1), Mismatch("t_send")),
        ("/aad/timestamp", json!("1700000000000"), Member("timestamp")),
        ("/aad/suite", json!("NULL"), Unsupported("suite")),
        ("/suite", json!("NULL"), Unsupported("suite")),
        ("/type", json!("e2ee.group_encrypted"), Unsupported("type")),
        ("/version", json!("v3"), Unsupported("version")),
        ("/sender_cert_fingerprint", json!("sha256:93e80dac0f62c88d"), SenderCertificate),
        ("/sender_session_pk", json!("AAAA"), Member("sender_session_pk")),
        ("/nonce", json!("AAAA"), Member("nonce")),
        ("/protected_headers", json!("none"), Member("protected_headers")),
        ("/recipients", json!([]), EnvelopeError::RecipientCount),
        ("/recipients/0/0", json!(mallory), UnknownRecipient { row: 0 }),
        ("/recipients/0/1", json!("dev-x"), UnknownRecipient { row: 0 }),
        ("/recipients/0/2", json!("audit"), UnknownRecipient { row: 0 }),
        ("/recipients/0/2", json!("self_sync"), UnknownRecipient { row: 0 }),
        ("/recipients/0/2", json!("reader"), Unsupported("recipients.role")),
        ("/recipients/0/3", json!("aid_master"), Member("recipients")),
        ("/recipients/0/4", json!("sha256:0000000000000000"), UnknownRecipient { row: 0 }),
        ("/recipients/0/5", json!("sha256:0000000000000000"), UnknownRecipient { row: 0 }),
        ("/recipients/0/5", json!(""), Member("recipients")),
        ("/recipients/0/7", json!("AAAA"), Member("recipients")),
        ("/recipients/0/6", json!("AAAAAAAAAAAAAAAA"), EnvelopeError::Digest),
    ] {
        let text = changed("v2_3dh_device", pointer, value);
        assert_eq!(Server::new().check(&text), Err(expected), "{pointer}");
    }
}

#[test]
fn too_long_or_ambiguous_text_is_refused() {
    let long = changed("v2_1dh_aid", "/ciphertext", "A".repeat(MAX_ENVELOPE_BYTES));
    assert_eq!(V2Envelope::parse(&long), Err(EnvelopeError::TooLong));
    let twice = envelope("v2_1dh_aid").to_string().replacen('{', r#"{"type":"","#, 1);
    assert_eq!(V2Envelope::parse(&twice), Err(EnvelopeError::Json(ExactJsonError::DuplicateKey)));
    let with_nul = changed("v2_1dh_aid", "/recipients/0/1", "\0");
    assert_eq!(V2Envelope::parse(&with_nul), Err(EnvelopeError::Member("recipients")));
    let mut both = envelope("v2_1dh_aid");
    both["recipient"] = json!({});
    assert_eq!(V2Envelope::parse(&both.to_string()), Err(EnvelopeError::Member("recipient")));
}

/// Signs an envelope with other rows than the ones of the vectors.
fn signed_with_rows(rows: Vec<RecipientRow>) -> (V2Envelope, ParsedCertificate) {
    let random = SystemRandom::new();
    let document =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("generated");
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref()).expect("a key");
    let public_key = P256PublicKey::from_point(pair.public_key().as_ref()).expect("a public key");
    let mut envelope = V2Envelope::parse(&envelope("v2_1dh_aid").to_string()).expect("an envelope");
    envelope.sender_cert_fingerprint = key_fingerprint(&public_key);
    envelope.recipients_digest = recipients_digest(&rows).expect("rows");
    envelope.recipients = V2Recipients::All(rows);
    let signature = pair.sign(&random, &envelope.signed_bytes().expect("bytes")).expect("signed");
    envelope.sender_signature = signature.as_ref().try_into().expect("64 bytes");
    (envelope, ParsedCertificate { public_key, ..certificate(ALICE) })
}

fn row(number: usize, wrapped_key: u8) -> RecipientRow {
    RecipientRow {
        aid: BOBBY.to_owned(),
        device_id: format!("device-{number:03}"),
        role: Role::Peer,
        key_source: KeySource::AidMaster,
        fingerprint: "sha256:93e80dac0f62c88d".to_owned(),
        spk_id: String::new(),
        wrap_nonce: [7; 12],
        wrapped_key: [wrapped_key; 48],
    }
}

#[test]
fn unsorted_repeated_and_too_many_rows_are_refused() {
    let text = |rows| signed_with_rows(rows).0.to_text();
    for (rows, expected) in [
        (vec![row(2, 0), row(1, 0)], EnvelopeError::RecipientOrder),
        (vec![row(1, 0), row(1, 1)], EnvelopeError::RecipientOrder),
        ((0..201).map(|number| row(number, 0)).collect(), EnvelopeError::RecipientCount),
    ] {
        assert_eq!(V2Envelope::parse(&text(rows)), Err(expected));
    }
    assert!(V2Envelope::parse(&text((0..200).map(|number| row(number, 0)).collect())).is_ok());
}

proptest! {
    #[test]
    fn every_row_has_a_proof_and_no_other_row_does(count in 1..=200_usize, chosen in any::<prop::sample::Index>(), damage in 0..48_usize) {
        let rows: Vec<RecipientRow> = (0..count).map(|number| row(number, 0)).collect();
        let (envelope, certificate) = signed_with_rows(rows);
        let one = envelope.for_row(chosen.index(count)).expect("a row");
        let read = V2Envelope::parse(&one.to_text()).expect("an envelope");
        prop_assert_eq!(&read, &one);
        prop_assert_eq!(read.verify_recipients(), Ok(()));
        prop_assert_eq!(read.verify_sender(&certificate), Ok(()));
        let V2Recipients::One { row, mut proof } = read.recipients else { panic!("one row") };
        let mut other = row.clone();
        other.wrapped_key[damage] ^= 1;
        prop_assert_eq!(verify_proof(&other, &proof, &one.recipients_digest), Err(EnvelopeError::Digest));
        if let Some(step) = proof.first_mut() {
            step.sibling[damage % 32] ^= 1;
            prop_assert_eq!(verify_proof(&row, &proof, &one.recipients_digest), Err(EnvelopeError::Digest));
        }
    }

    #[test]
    fn changed_character_is_refused_unless_nothing_signed_changes(name in prop::sample::select(&NAMES), at in any::<prop::sample::Index>(), replacement in "[A-Za-z0-9+/=\"{}: -]") {
        let (server, text) = (Server::new(), envelope(name).to_string());
        let original = server.check(&text).expect("accepted");
        let at = at.index(text.len());
        prop_assume!(text.get(at..=at).is_some_and(|character| character != replacement));
        let changed = format!("{}{replacement}{}", &text[..at], &text[at + 1..]);
        if let Ok(accepted) = server.check(&changed) {
            prop_assert_eq!(accepted.signed_bytes(), original.signed_bytes());
            prop_assert_eq!(accepted.recipients, original.recipients);
        }
    }

    #[test]
    fn any_text_is_refused_without_panic(text in any::<String>()) {
        prop_assert!(V2Envelope::parse(&text).is_err());
    }
}
