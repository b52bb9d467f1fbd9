//! Sealed messages of the test. They are sealed for the key of an AID: each of its devices opens them.

use guildhall_identity::e2ee::ExactJson;
use guildhall_identity::e2ee::v2::{Role, V2Envelope, V2Message, V2Reader, V2Recipient};
use serde_json::{Value, json};

use super::connection::Identity;

/// Seals a text that is the id of its message.
pub(super) fn seal(from: &Identity, device: &str, to: &Identity, id: &str) -> Value {
    let payload = json!({ "type": "text", "text": id }).to_string();
    let message = V2Message {
        from: &from.aid,
        from_device: device,
        to: &to.aid,
        message_id: id,
        timestamp_ms: 1_700_000_000_000,
        payload: &ExactJson::parse_object(&payload).expect("an object"),
    };
    let reader = V2Recipient {
        aid: to.aid.clone(),
        device_id: String::new(),
        role: Role::Peer,
        identity_key: to.certificate.public_key.clone(),
        spk: None,
    };
    let envelope = message.seal(&*from.key, &[reader]).expect("sealed").to_text();
    serde_json::from_str(&envelope).expect("JSON")
}

/// Opens a message, and verifies its sender. Returns the text.
pub(super) fn open(envelope: &str, reader: &Identity, sender: &Identity) -> String {
    let envelope = V2Envelope::parse(envelope).expect("an envelope");
    let reader = V2Reader { aid: &reader.aid, device_id: "", identity: &*reader.key, spk: None };
    let payload = envelope.open(&reader, &sender.certificate).expect("opened");
    let payload: Value = serde_json::from_str(&payload).expect("JSON");
    payload["text"].as_str().expect("a text").to_owned()
}
