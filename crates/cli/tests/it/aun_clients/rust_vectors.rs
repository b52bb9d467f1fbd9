//! Sealed messages of the Rust client with new keys, as `interop/aun/open_sealed.py` reads them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_identity::e2ee::v1::{V1Message, V1Recipient};
use guildhall_identity::e2ee::v2::{Role, V2Message, V2Recipient};
use guildhall_identity::e2ee::{AgreementKey, ExactJson};
use guildhall_identity::pki::{
    Curve, EcKey, P256PublicKey, ParsedCertificate, der_to_pem, pem_to_der, self_signed_root,
};
use jiff::Timestamp;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

const ALICE: &str = "alice.guild.test";
const BOBBY: &str = "bobby.guild.test";
const NOW_MS: i64 = 1_800_000_000_000;

/// Returns private keys, certificates, and a message of each form.
pub(super) fn sealed_messages() -> Value {
    let [alice, bobby] = [0, 1].map(|_| EcKey::generate(Curve::P256).expect("a key"));
    let (alice_pem, bobby_pem) = (certificate(ALICE, &alice), certificate(BOBBY, &bobby));
    let (alice_certificate, bobby_certificate) = (parsed(&alice_pem), parsed(&bobby_pem));
    let [spk, prekey] = [0, 1].map(|_| AgreementKey::generate().expect("a key"));
    let payload = json!({ "type": "text", "text": "hi €ü 你好", "n": [1, -0.5, true, null, { "b": "\u{1}", "a": "\\" }] });
    let exact = ExactJson::parse_object(&payload.to_string()).expect("an object");
    let v2 = |device_id: &str, spk: Option<&P256PublicKey>| {
        let message = V2Message {
            from: ALICE,
            from_device: "dev-a",
            to: BOBBY,
            message_id: "m-1",
            timestamp_ms: NOW_MS,
            payload: &exact,
        };
        let recipient = V2Recipient {
            aid: BOBBY.to_owned(),
            device_id: device_id.to_owned(),
            role: Role::Peer,
            identity_key: bobby_certificate.public_key.clone(),
            spk: spk.cloned(),
        };
        let other = V2Recipient { device_id: "other".to_owned(), ..recipient.clone() };
        let sealed = message.seal(&alice, &[other, recipient]).expect("sealed").to_text();
        serde_json::from_str::<Value>(&sealed).expect("JSON")
    };
    let v1 = |prekey: Option<(&str, &P256PublicKey)>| {
        let message = V1Message {
            from: &alice_certificate,
            to: BOBBY,
            message_id: "m-1",
            timestamp_ms: NOW_MS,
            payload: &exact,
        };
        let recipient = V1Recipient { certificate: &bobby_certificate, prekey };
        let sealed = message.seal(&alice, &recipient).expect("sealed").to_text();
        serde_json::from_str::<Value>(&sealed).expect("JSON")
    };
    json!({
        "payload": payload,
        "sender_certificate": alice_pem,
        "recipient_certificate": bobby_pem,
        "recipient_key": bobby.to_pem().expose_secret(),
        "spk": STANDARD.encode(spk.to_scalar().expect("a number").expose_secret()),
        "prekey": STANDARD.encode(prekey.to_scalar().expect("a number").expose_secret()),
        "messages": {
            "v2_3dh": v2("dev-b", Some(spk.public_key())),
            "v2_1dh": v2("dev-b", None),
            "v2_1dh_aid": v2("", None),
            "v1_prekey_ecdh_v2": v1(Some(("prekey-1", prekey.public_key()))),
            "v1_long_term_key": v1(None),
        },
    })
}

/// The official code looks at the name and the key of a certificate.
fn certificate(aid: &str, key: &EcKey) -> String {
    let now = Timestamp::from_millisecond(NOW_MS).expect("a time");
    der_to_pem(&self_signed_root(aid, key, now).expect("signed"))
}

fn parsed(pem: &str) -> ParsedCertificate {
    ParsedCertificate::from_der(&pem_to_der(pem).expect("PEM")).expect("a certificate")
}
