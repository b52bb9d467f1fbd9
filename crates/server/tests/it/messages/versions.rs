//! Sealed messages to recipients whose devices have keys of no, one or both versions of end-to-end encryption.

use guildhall_identity::e2ee::v1::{V1Message, V1Recipient};
use guildhall_identity::e2ee::v2::{Role, V2Message, V2Recipient};
use guildhall_identity::e2ee::{ExactJson, SignedPrekey, SignedSpk};
use guildhall_identity::pki::{Curve, EcKey, P256PublicKey, ParsedCertificate, pem_to_der};
use serde_json::{Value, json};

use crate::support::aun_client::{AunIdentity, AunSocket, public_key};
use crate::support::gateway::Gateway;

const PREKEY: &str = "prekey-1";
const TIME_MS: i64 = 1_700_000_000_000;

/// How a message is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SealForm {
    /// First version, for the prekey of a device.
    Prekey,
    /// First version, for the key of the AID.
    LongTermKey,
    /// Second version: for the keys of the devices, or that of the AID where there are none.
    Second,
}

const FORMS: [SealForm; 3] = [SealForm::Prekey, SealForm::LongTermKey, SealForm::Second];

fn new_key() -> P256PublicKey {
    P256PublicKey::of(&EcKey::generate(Curve::P256).expect("a key")).expect("a public key")
}

fn certificate(identity: &AunIdentity) -> ParsedCertificate {
    let der = pem_to_der(&identity.certificate).expect("PEM");
    ParsedCertificate::from_der(&der).expect("a certificate")
}

/// An AID with one device.
struct Recipient {
    identity: AunIdentity,
    prekey: P256PublicKey,
    /// None without a key of the second version.
    spk: Option<P256PublicKey>,
}

impl Recipient {
    async fn start(gateway: &Gateway, name: &str, has_first: bool, has_second: bool) -> Self {
        let identity = gateway.register(name).await;
        let (prekey, spk) = (new_key(), has_second.then(new_key));
        let mut socket = identity.connected_device(gateway.cluster.first.address, "phone").await;
        if has_first {
            let signed = SignedPrekey::sign(PREKEY, &prekey, TIME_MS, &identity.key).expect("signed");
            socket.call("message.e2ee.put_prekey", json!(signed)).await.expect("stored");
        }
        if let Some(key) = &spk {
            let signed = SignedSpk::sign(key, TIME_MS / 1000, &identity.key).expect("signed");
            socket.call("message.v2.put_peer_pk", json!(signed)).await.expect("stored");
        }
        Self { identity, prekey, spk }
    }

    fn as_reader(&self) -> V2Recipient {
        V2Recipient {
            aid: self.identity.aid.clone(),
            device_id: self.spk.as_ref().map_or("", |_| "phone").to_owned(),
            role: Role::Peer,
            identity_key: P256PublicKey::of(&self.identity.key).expect("a public key"),
            spk: self.spk.clone(),
        }
    }
}

struct Sender {
    identity: AunIdentity,
    socket: AunSocket,
}

impl Sender {
    /// Sends a message. Returns why it was refused.
    async fn send(&mut self, recipient: &Recipient, form: SealForm) -> Result<(), (String, String)> {
        let id = format!("{form:?}-{}", recipient.identity.aid);
        let payload = ExactJson::parse_object(r#"{"type":"text","text":"secret"}"#).expect("an object");
        let (to, key) = (&recipient.identity.aid, &self.identity.key);
        let first = || {
            let (own, theirs) = (certificate(&self.identity), certificate(&recipient.identity));
            let prekey = (form == SealForm::Prekey).then_some((PREKEY, &recipient.prekey));
            let message =
                V1Message { from: &own, to, message_id: &id, timestamp_ms: TIME_MS, payload: &payload };
            let sealed = message.seal(key, &V1Recipient { certificate: &theirs, prekey });
            sealed.expect("sealed").to_text()
        };
        let second = || {
            let message = V2Message {
                from: &self.identity.aid,
                from_device: "device-1",
                to,
                message_id: &id,
                timestamp_ms: TIME_MS,
                payload: &payload,
            };
            message.seal(key, &[recipient.as_reader()]).expect("sealed").to_text()
        };
        let envelope = match form {
            SealForm::Prekey | SealForm::LongTermKey => first(),
            SealForm::Second => second(),
        };
        let envelope: Value = serde_json::from_str(&envelope).expect("JSON");
        let params = json!({ "to": to, "message_id": id, "payload": envelope });
        let sent = self.socket.call("message.send", params).await;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        sent.map(drop).map_err(|error| (text(&error["data"]["failureKind"]), text(&error["message"])))
    }
}

// covers: A24
#[tokio::test]
async fn sealed_message_is_refused_where_no_device_has_a_key_for_it() {
    let gateway = Gateway::start().await;
    let identity = gateway.register("alice").await;
    let socket = identity.connected(gateway.cluster.first.address).await;
    let mut alice = Sender { identity, socket };
    let refused = |why: &str| {
        let prefix = "the recipient's devices cannot open messages of this version of end-to-end encryption";
        Err(("conflict".to_owned(), format!("{prefix}: {why}")))
    };
    let first_only = refused("they have stored keys of the first version only");
    let second_only = refused("they have stored keys of the second version only");
    for (name, has_first, has_second, expected) in [
        ("none", false, false, [refused("they have stored no prekey"), Ok(()), Ok(())]),
        ("first", true, false, [Ok(()), Ok(()), first_only.clone()]),
        ("second", false, true, [second_only.clone(), second_only, Ok(())]),
        ("both", true, true, [Ok(()), Ok(()), Ok(())]),
    ] {
        let recipient = Recipient::start(&gateway, name, has_first, has_second).await;
        for (form, expected) in FORMS.into_iter().zip(expected) {
            assert_eq!(alice.send(&recipient, form).await, expected, "{form:?} to {name}");
        }
        // Its sender asks before it seals, and is told the same.
        let peer = json!({ "peer_aid": recipient.identity.aid });
        let bootstrap = alice.socket.call("message.v2.bootstrap", peer).await;
        assert_eq!(bootstrap.is_err(), has_first && !has_second, "{name}: {bootstrap:?}");
    }
    let stored = gateway.cluster.db.sql().await.number("SELECT count(*) FROM inbox_messages").await;
    assert_eq!(stored, 8, "nothing that was refused");
}

// covers: A24
#[tokio::test]
async fn bootstrap_names_no_further_readers_and_no_rule_for_wrapping() {
    let gateway = Gateway::start().await;
    let alice = gateway.register("alice").await;
    let mut socket = alice.connected(gateway.cluster.first.address).await;
    for (name, has_second) in [("nobody", false), ("bobby", true)] {
        let bobby = Recipient::start(&gateway, name, false, has_second).await;
        let aid = &bobby.identity.aid;
        let identity_key = public_key(&bobby.identity.key);
        let device = match &bobby.spk {
            None => {
                json!({ "aid": aid, "device_id": "", "ik_pk": identity_key, "key_source": "aid_master" })
            }
            Some(key) => {
                let spk = SignedSpk::sign(key, TIME_MS / 1000, &bobby.identity.key).expect("signed");
                json!({
                    "aid": aid, "device_id": "phone", "ik_pk": identity_key, "key_source": "peer_device_prekey",
                    "spk_id": spk.spk_id, "spk_pk": spk.spk_pk, "spk_signature": spk.spk_signature,
                    "spk_timestamp": spk.spk_timestamp,
                })
            }
        };
        let found = socket.call("message.v2.bootstrap", json!({ "peer_aid": aid })).await.expect("keys");
        let mut expected = json!({
            "peer_aid": aid, "peer_devices": [device], "audit_recipients": [], "hosted": false,
            "certs": { aid: { "cert_pem": bobby.identity.certificate } },
        });
        // A signature has a random part.
        expected["peer_devices"][0]["spk_signature"] = found["peer_devices"][0]["spk_signature"].clone();
        if !has_second {
            expected["peer_devices"][0].as_object_mut().expect("an object").remove("spk_signature");
        }
        assert_eq!(found, expected);
    }
}
