//! Messages that are sealed and opened.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::agreement::{AgreementKey, IdentityKey};
use super::super::cipher::CipherKey;
use super::super::exact_json::{ExactJson, JsonObject};
use super::super::members::Members;
use super::super::vectors::{
    self, ALICE, BOBBY, agreement_key, certificate, changed, envelope, identity_key,
};
use super::super::{EnvelopeError, OpenError, SealingError, key_fingerprint};
use super::seal::MessageSecrets;
use super::*;
use crate::pki::{Curve, EcKey, P256PublicKey, ParsedCertificate};

const NAMES: [&str; 3] = ["v2_3dh_device", "v2_1dh_device", "v2_1dh_aid"];

fn object(value: &Value) -> JsonObject {
    ExactJson::parse_object(&value.to_string()).expect("an object")
}

/// Opens a message as Bobby's device.
fn open(text: &str) -> Result<Value, OpenError> {
    let (bobby, spk) = (identity_key("bobby"), agreement_key("spk"));
    let reader = V2Reader { aid: BOBBY, device_id: "dev-b", identity: &bobby, spk: Some(&spk) };
    let opened = V2Envelope::parse(text)?.open(&reader, &certificate(ALICE))?;
    Ok(serde_json::from_str(&opened).expect("JSON"))
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

/// The secrets of a published message.
fn published_secrets(name: &str) -> MessageSecrets {
    let published = V2Envelope::parse(&envelope(name).to_string()).expect("an envelope");
    let V2Recipients::All(rows) = &published.recipients else { panic!("all rows") };
    assert_eq!(rows[0].wrap_nonce, wrap_nonce());
    let (session, bobby) = (agreement_key("ephemeral"), identity_key("bobby"));
    let salt = super::wrap::WrapSalt::new(&published.aad.bytes().expect("bytes"), session.public_key());
    let secret = bobby.agree(session.public_key()).expect("agreed");
    let secrets = match rows[0].key_source {
        KeySource::AidMaster => super::wrap::WrapSecrets::OneDh(secret),
        KeySource::PeerDevicePrekey => {
            let spk = agreement_key("spk");
            let with_sender = spk.agree(&certificate(ALICE).public_key).expect("agreed");
            let with_session = spk.agree(session.public_key()).expect("agreed");
            super::wrap::WrapSecrets::ThreeDh([secret, with_sender, with_session])
        }
    };
    let (wrapped, tag) = rows[0].wrapped_key.split_at(32);
    let wrap_key = secrets.key(salt).expect("a key");
    let key = super::super::cipher::decrypt(&wrap_key, rows[0].wrap_nonce, &[], wrapped, tag).expect("a key");
    let key = CipherKey::new(key.as_slice().try_into().expect("32 bytes"));
    MessageSecrets { key, nonce: published.nonce, session, wrap_nonce }
}

/// The nonce of the rows of all published messages.
fn wrap_nonce() -> [u8; 12] {
    let row = json!({ "n": envelope(NAMES[0])["recipients"][0][6] });
    Members::parse(&row.to_string()).expect("an object").bytes("n").expect("a nonce")
}

#[test]
fn same_secrets_give_the_published_messages() {
    let (alice, bobby) = (identity_key("alice"), certificate(BOBBY));
    for (name, device_id, has_spk) in
        [(NAMES[0], "dev-b", true), (NAMES[1], "dev-b", false), (NAMES[2], "", false)]
    {
        let recipient = V2Recipient {
            aid: BOBBY.to_owned(),
            device_id: device_id.to_owned(),
            role: Role::Peer,
            identity_key: bobby.public_key.clone(),
            spk: has_spk.then(|| agreement_key("spk").public_key().clone()),
        };
        let payload = vectors::payload();
        let message = V2Message {
            from: ALICE,
            from_device: "dev-a",
            to: BOBBY,
            message_id: "m-1",
            timestamp_ms: 1_700_000_000_000,
            payload: &payload,
        };
        let secrets = published_secrets(name);
        let sealed = message.seal_with(&secrets, &alice, &[recipient], &BTreeMap::new()).expect("sealed");
        let mut published = V2Envelope::parse(&envelope(name).to_string()).expect("an envelope");
        // The nonce of a signature is random, and the headers name the version of the client.
        assert_eq!(sealed.verify_sender(&certificate(ALICE)), Ok(()), "{name}");
        published.sender_signature = sealed.sender_signature;
        published.protected_headers.clone_from(&sealed.protected_headers);
        assert_eq!(sealed, published, "{name}");
    }
}

#[test]
fn message_for_another_device_key_or_recipient_is_not_opened() {
    let (bobby, alice, spk) = (identity_key("bobby"), identity_key("alice"), agreement_key("spk"));
    let other = AgreementKey::generate().expect("generated");
    let reader = V2Reader { aid: BOBBY, device_id: "dev-b", identity: &bobby, spk: Some(&spk) };
    for (reader, expected) in [
        (V2Reader { device_id: "dev-x", ..reader }, OpenError::OtherDevice),
        (V2Reader { aid: ALICE, ..reader }, OpenError::OtherDevice),
        (V2Reader { spk: None, ..reader }, OpenError::UnknownKey),
        (V2Reader { spk: Some(&other), ..reader }, OpenError::UnknownKey),
        (V2Reader { identity: &alice, ..reader }, OpenError::OtherIdentityKey),
    ] {
        let parsed = V2Envelope::parse(&envelope(NAMES[0]).to_string()).expect("an envelope");
        assert_eq!(parsed.open(&reader, &certificate(ALICE)), Err(expected));
    }
    let parsed = V2Envelope::parse(&envelope(NAMES[0]).to_string()).expect("an envelope");
    let forged = parsed.open(&reader, &certificate(BOBBY));
    assert_eq!(forged, Err(EnvelopeError::Mismatch("aad.from").into()));
}

#[test]
fn changed_headers_are_refused() {
    let remove_tag = |mut envelope: Value| {
        envelope["protected_headers"].as_object_mut().expect("headers").remove("_auth");
        envelope.to_string()
    };
    for text in [
        changed(NAMES[0], "/protected_headers/payload_type", "other"),
        changed(NAMES[0], "/protected_headers/_auth/alg", "none"),
        changed(NAMES[0], "/protected_headers/_auth/tag", ""),
        remove_tag(envelope(NAMES[0])),
    ] {
        assert_eq!(open(&text), Err(OpenError::Headers), "{text}");
    }
    let mut context = envelope(NAMES[0]);
    context["context"] = json!({ "thread": "1" });
    assert_eq!(open(&context.to_string()), Err(OpenError::Headers));
}

/// A sender and the devices that it seals for.
struct Participants {
    alice: EcKey,
    alice_certificate: ParsedCertificate,
    readers: Vec<Device>,
}

struct Device {
    identity: EcKey,
    spk: Option<AgreementKey>,
    recipient: V2Recipient,
}

impl Participants {
    /// Devices of Bobby and of Alice, with and without an SPK.
    fn new(devices: &[(bool, bool)]) -> Self {
        let [alice, bobby] = [0, 1].map(|_| EcKey::generate(Curve::P256).expect("generated"));
        let public = |key: &EcKey| P256PublicKey::of(key).expect("a public key");
        let readers = devices.iter().enumerate().map(|(number, (is_own, has_spk))| {
            let (aid, role, key) =
                if *is_own { (ALICE, Role::SelfSync, &alice) } else { (BOBBY, Role::Peer, &bobby) };
            let spk = has_spk.then(|| AgreementKey::generate().expect("generated"));
            let recipient = V2Recipient {
                aid: aid.to_owned(),
                device_id: format!("device-{}", devices.len() - number),
                role,
                identity_key: public(key),
                spk: spk.as_ref().map(|spk| spk.public_key().clone()),
            };
            Device { identity: EcKey::from_pem(Curve::P256, &key.to_pem()).expect("a key"), spk, recipient }
        });
        let readers = readers.collect();
        let alice_certificate = ParsedCertificate { public_key: public(&alice), ..certificate(ALICE) };
        Self { alice, alice_certificate, readers }
    }

    fn seal(&self, payload: &JsonObject) -> Result<V2Envelope, SealingError> {
        self.seal_with_headers(payload, &BTreeMap::new())
    }

    fn seal_with_headers(
        &self,
        payload: &JsonObject,
        headers: &BTreeMap<String, String>,
    ) -> Result<V2Envelope, SealingError> {
        let message = V2Message {
            from: ALICE,
            from_device: "dev-a",
            to: BOBBY,
            message_id: "m-1",
            timestamp_ms: 1,
            payload,
        };
        let recipients: Vec<V2Recipient> =
            self.readers.iter().map(|device| device.recipient.clone()).collect();
        message.seal_with_headers(&self.alice, &recipients, headers)
    }

    fn open(&self, device: &Device, text: &str) -> Result<String, OpenError> {
        let V2Recipient { aid, device_id, .. } = &device.recipient;
        let reader = V2Reader { aid, device_id, identity: &device.identity, spk: device.spk.as_ref() };
        V2Envelope::parse(text)?.open(&reader, &self.alice_certificate)
    }
}

// covers: M28
#[test]
fn further_headers_are_in_clear_and_cannot_be_changed() {
    let participants = Participants::new(&[(false, true)]);
    let headers = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let payload = object(&json!({ "type": "artifact" }));
    let further = headers(&[("msg_subtype", "artifact_tool_call"), ("conversation_id", "c-1")]);
    let sealed = participants.seal_with_headers(&payload, &further).expect("sealed");
    let text = sealed.to_text();
    let mut found = V2Envelope::parse(&text).expect("an envelope").headers();
    assert_eq!(found.remove("payload_type").as_deref(), Some("artifact"));
    found.retain(|name, _| !name.starts_with("sdk_"));
    assert_eq!(found, further);
    assert!(participants.open(&participants.readers[0], &text).is_ok());
    let changed = text.replace("artifact_tool_call", "artifact_response_");
    assert_eq!(participants.open(&participants.readers[0], &changed), Err(OpenError::Headers));
    for wrong in [("_auth", "x"), ("sdk_lang", "x"), ("Upper", "x"), ("", "x"), ("name", "a\u{0}b")] {
        let sealed = participants.seal_with_headers(&payload, &headers(&[wrong]));
        assert_eq!(sealed, Err(SealingError::Headers), "{wrong:?}");
    }
}

#[test]
fn recipients_are_bounded_and_distinct() {
    let payload = object(&json!({}));
    for devices in [vec![], vec![(false, false); 201]] {
        assert_eq!(Participants::new(&devices).seal(&payload), Err(SealingError::Recipients));
    }
    let mut twice = Participants::new(&[(false, true), (false, true)]);
    twice.readers.iter_mut().for_each(|device| device.recipient.device_id = "same".to_owned());
    assert_eq!(twice.seal(&payload), Err(SealingError::Recipients));
    let mut named = Participants::new(&[(false, true)]);
    named.readers[0].recipient.device_id = "a\0b".to_owned();
    assert_eq!(named.seal(&payload), Err(SealingError::Names));
    let number = object(&json!({ "n": 9_007_199_254_740_992_i64 }));
    assert_eq!(Participants::new(&[(false, true)]).seal(&number), Err(SealingError::Payload));
}

#[test]
fn nothing_random_is_used_twice() {
    let participants = Participants::new(&[(false, true), (false, false)]);
    let payload = object(&json!({ "type": "text" }));
    let sealed: Vec<V2Envelope> = (0..20).map(|_| participants.seal(&payload).expect("sealed")).collect();
    let nonces = sealed.iter().flat_map(|envelope| {
        let V2Recipients::All(rows) = &envelope.recipients else { panic!("all rows") };
        rows.iter().map(|row| row.wrap_nonce).chain([envelope.nonce]).collect::<Vec<_>>()
    });
    assert_eq!(nonces.collect::<BTreeSet<_>>().len(), 60);
    let sessions = sealed.iter().map(|envelope| key_fingerprint(&envelope.session_key));
    assert_eq!(sessions.collect::<BTreeSet<_>>().len(), 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_recipient_opens_what_was_sealed(
        text in any::<String>(), eighths in any::<i32>(), devices in prop::collection::vec(any::<(bool, bool)>(), 1..5)
    ) {
        let payload = json!({ "type": text, "nested": { "list": [text, true, null, f64::from(eighths) / 8.0] } });
        let participants = Participants::new(&devices);
        let sealed = participants.seal(&object(&payload)).expect("sealed");
        for device in &participants.readers {
            let opened = participants.open(device, &sealed.to_text()).expect("opened");
            let opened: Value = serde_json::from_str(&opened).expect("JSON");
            prop_assert_eq!(&opened["type"], &payload["type"]);
            prop_assert_eq!(&opened["nested"]["list"][0], &payload["nested"]["list"][0]);
            prop_assert_eq!(opened["nested"]["list"][3].as_f64(), Some(f64::from(eighths) / 8.0));
        }
        // The envelope for one row too.
        let own = sealed.for_row(0).expect("a row").to_text();
        let opened = participants.readers.iter().filter(|device| participants.open(device, &own).is_ok());
        prop_assert_eq!(opened.count(), 1);
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
            // Only the type in clear, and members that are not known, are not protected.
            let mut changed = V2Envelope::parse(&changed).expect("an envelope");
            let original = V2Envelope::parse(&text).expect("an envelope");
            changed.payload_type.clone_from(&original.payload_type);
            changed.rest.clone_from(&original.rest);
            changed.protected_headers.clone_from(&original.protected_headers);
            prop_assert_eq!(changed, original);
        }
    }
}
