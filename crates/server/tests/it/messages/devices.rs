//! Sealed messages of recipients and senders with several devices.

use guildhall_identity::e2ee::v2::{Role, V2Message, V2Recipient};
use guildhall_identity::e2ee::{ExactJson, SignedSpk};
use guildhall_identity::pki::{Curve, EcKey, P256PublicKey};
use serde_json::{Value, json};

use super::{pull, seqs};
use crate::support::aun_client::{AunIdentity, AunSocket};
use crate::support::gateway::Gateway;

/// A connected device that has published a key.
struct SealingDevice<'a> {
    owner: &'a AunIdentity,
    name: &'static str,
    key: P256PublicKey,
    socket: AunSocket,
}

impl<'a> SealingDevice<'a> {
    async fn connect(gateway: &Gateway, owner: &'a AunIdentity, name: &'static str) -> Self {
        let capabilities = json!({ "supported_p2p_e2ee": ["e2ee_v2"], "inline_realtime_payload_v1": true });
        let device = json!({ "device": { "id": name, "type": "sdk" }, "capabilities": capabilities });
        let mut socket = owner.connected_with(gateway.cluster.first.address, device).await;
        let key = P256PublicKey::of(&EcKey::generate(Curve::P256).expect("a key")).expect("a public key");
        let spk = SignedSpk::sign(&key, 1_700_000_000, &owner.key).expect("signed");
        let params = json!({
            "spk_id": spk.spk_id, "spk_pk": spk.spk_pk, "spk_signature": spk.spk_signature,
            "spk_timestamp": spk.spk_timestamp,
        });
        socket.call("message.v2.put_peer_pk", params).await.expect("stored");
        Self { owner, name, key, socket }
    }

    fn as_reader(&self, role: Role) -> V2Recipient {
        V2Recipient {
            aid: self.owner.aid.clone(),
            device_id: self.name.to_owned(),
            role,
            identity_key: P256PublicKey::of(&self.owner.key).expect("a public key"),
            spk: Some(self.key.clone()),
        }
    }

    /// Sends a message that is sealed for these readers.
    async fn send(&mut self, to: &AunIdentity, id: &str, readers: &[V2Recipient]) -> Result<Value, Value> {
        let params = self.seal(to, id, readers);
        self.socket.call("message.send", params).await
    }

    /// Returns the parameters of a message that is sealed for these readers.
    fn seal(&self, to: &AunIdentity, id: &str, readers: &[V2Recipient]) -> Value {
        let message = V2Message {
            from: &self.owner.aid,
            from_device: self.name,
            to: &to.aid,
            message_id: id,
            timestamp_ms: 1_700_000_000_000,
            payload: &ExactJson::parse_object(r#"{"type":"text","text":"secret"}"#).expect("an object"),
        };
        let envelope = message.seal(&self.owner.key, readers).expect("sealed").to_text();
        let envelope: Value = serde_json::from_str(&envelope).expect("JSON");
        json!({ "to": to.aid, "message_id": id, "payload": envelope })
    }

    async fn page_of(&mut self, sender: &AunIdentity) -> Value {
        let params = json!({ "cursor_scope": "peer", "sender_aid": sender.aid, "limit": 10 });
        self.socket.call("message.v2.pull", params).await.expect("a page")
    }
}

// covers: A24
#[tokio::test]
async fn message_sealed_before_a_device_was_known_is_not_for_it() {
    let gateway = Gateway::start().await;
    let (alice, bobby) = (gateway.register("alice").await, gateway.register("bobby").await);
    let mut laptop = SealingDevice::connect(&gateway, &alice, "laptop").await;
    let mut phone = SealingDevice::connect(&gateway, &bobby, "phone").await;
    let early = [phone.as_reader(Role::Peer)];
    laptop.send(&bobby, "m-1", &early).await.expect("sent");
    let mut tablet = SealingDevice::connect(&gateway, &bobby, "tablet").await;
    let both = [phone.as_reader(Role::Peer), tablet.as_reader(Role::Peer)];
    laptop.send(&bobby, "m-2", &both).await.expect("sent");
    for (device, expected) in [(&mut phone, vec![1, 2]), (&mut tablet, vec![2])] {
        let page = device.page_of(&alice).await;
        assert_eq!(seqs(&page), expected, "{}", device.name);
        assert_eq!((&page["covered_through_seq"], &page["has_more"]), (&json!(2), &json!(false)));
        let page = pull(&mut device.socket, 0).await;
        // A reader that counts the seqs does not wait for those of other devices.
        assert_eq!((seqs(&page), &page["server_ack_seq"]), (expected.clone(), &json!(2 - expected.len())));
        for seq in expected {
            let (method, event) = device.socket.next_event().await;
            assert_eq!((method.as_str(), &event["seq"]), ("event/peer.v2.message_received", &json!(seq)));
        }
    }
}

// covers: A24
#[tokio::test]
async fn message_that_leaves_out_a_device_of_its_recipient_is_refused() {
    let gateway = Gateway::start().await;
    let (alice, bobby) = (gateway.register("alice").await, gateway.register("bobby").await);
    let mut laptop = SealingDevice::connect(&gateway, &alice, "laptop").await;
    let phone = SealingDevice::connect(&gateway, &bobby, "phone").await;
    let mut tablet = SealingDevice::connect(&gateway, &bobby, "tablet").await;
    let for_phone = [phone.as_reader(Role::Peer)];
    let refused = laptop.send(&bobby, "m-1", &for_phone).await.expect_err("refused");
    assert_eq!((&refused["code"], &refused["data"]["failureKind"]), (&json!(-33011), &json!("stale-keys")));
    // The sender says that it is meant for this device alone.
    let mut params = laptop.seal(&bobby, "m-1", &for_phone);
    params["device_id"] = "phone".into();
    laptop.socket.call("message.send", params).await.expect("sent");
    assert_eq!(seqs(&tablet.page_of(&alice).await), Vec::<i64>::new());
    let both = [phone.as_reader(Role::Peer), tablet.as_reader(Role::Peer)];
    laptop.send(&bobby, "m-2", &both).await.expect("sent");
    assert_eq!(seqs(&tablet.page_of(&alice).await), [2]);
}

// covers: A24
#[tokio::test]
async fn sealed_message_is_copied_to_the_other_devices_of_its_sender() {
    let gateway = Gateway::start().await;
    let (alice, bobby) = (gateway.register("alice").await, gateway.register("bobby").await);
    let mut laptop = SealingDevice::connect(&gateway, &alice, "laptop").await;
    let mut tablet = SealingDevice::connect(&gateway, &alice, "tablet").await;
    let mut phone = SealingDevice::connect(&gateway, &bobby, "phone").await;
    let readers = [phone.as_reader(Role::Peer), tablet.as_reader(Role::SelfSync)];
    laptop.send(&bobby, "m-1", &readers).await.expect("sent");
    let (method, event) = tablet.socket.next_event().await;
    let expected = json!({
        "seq": 1, "message_id": "m-1", "from_aid": alice.aid, "to": bobby.aid, "t_server": event["t_server"],
        "prev_peer_seq": 0, "inline_message": tablet.page_of(&alice).await["messages"][0],
    });
    assert_eq!((method.as_str(), &event), ("event/peer.v2.message_received", &expected));
    let copy = &event["inline_message"];
    assert_eq!((&copy["direction"], &copy["version"]), (&json!("outbound_sync"), &json!("v2")));
    assert_eq!(seqs(&pull(&mut tablet.socket, 0).await), [1]);
    // Not to the device that has sent it, and the recipient has one message.
    assert_eq!(seqs(&pull(&mut laptop.socket, 0).await), Vec::<i64>::new());
    assert_eq!(seqs(&laptop.page_of(&alice).await), Vec::<i64>::new());
    let received = phone.page_of(&alice).await;
    assert_eq!((seqs(&received), received["messages"][0].get("direction")), (vec![1], None));
    // A recall empties the copy too.
    let recalled = laptop.socket.call("message.recall", json!({ "message_ids": ["m-1"] })).await;
    assert_eq!(recalled.expect("recalled")["recalled"], 1);
    assert_eq!(pull(&mut tablet.socket, 0).await["messages"][0]["type"], "message.recalled");
}
