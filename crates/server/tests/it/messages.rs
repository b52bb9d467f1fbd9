//! Messages between AIDs on two replicas.

mod agent_answers;
mod agent_keys;
mod agents;
mod backlog;
mod cursors;
mod devices;
mod lifetimes;
mod modes;
mod outages;
mod peers;
mod recalls;
mod signatures;
mod tool_calls;
mod unreadable;
mod versions;
mod workers;

use serde_json::{Value, json};

use crate::support::aun_client::{AunIdentity, AunSocket};
use crate::support::gateway::Gateway;

/// Two replicas, and two AIDs: `alice` is connected to the first, `bobby` to the second.
struct Pair {
    gateway: Gateway,
    alice: AunIdentity,
    bobby: AunIdentity,
    sender: AunSocket,
    receiver: AunSocket,
}

impl Pair {
    async fn start() -> Self {
        Self::of(Gateway::start().await).await
    }

    async fn of(gateway: Gateway) -> Self {
        let (alice, bobby) = (gateway.register("alice").await, gateway.register("bobby").await);
        let sender = alice.connected(gateway.cluster.first.address).await;
        let receiver = bobby.connected(gateway.cluster.second.address).await;
        Self { gateway, alice, bobby, sender, receiver }
    }

    /// Opens the connections again, as after an outage that may have closed them.
    async fn reconnected(self) -> Self {
        let sender = self.alice.connected(self.gateway.cluster.first.address).await;
        let receiver = self.bobby.connected(self.gateway.cluster.second.address).await;
        Self { sender, receiver, ..self }
    }

    /// Sends a text, and returns the answer.
    async fn send(&mut self, text: &str) -> Value {
        send(&mut self.sender, &self.bobby.aid, text).await
    }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

async fn send(socket: &mut AunSocket, to: &str, words: &str) -> Value {
    socket.call("message.send", json!({ "to": to, "payload": text(words) })).await.expect("sent")
}

async fn pull(socket: &mut AunSocket, after: i64) -> Value {
    socket.call("message.pull", json!({ "after_seq": after })).await.expect("a page")
}

fn texts(page: &Value) -> Vec<String> {
    let rows = page["messages"].as_array().expect("rows").iter();
    rows.map(|row| row["payload"]["text"].as_str().unwrap_or("-").to_owned()).collect()
}

fn seqs(page: &Value) -> Vec<i64> {
    page["messages"].as_array().expect("rows").iter().filter_map(|row| row["seq"].as_i64()).collect()
}

// covers: A2, A9
#[tokio::test]
async fn message_is_pushed_to_the_other_replica_as_it_is_stored() {
    let mut pair = Pair::start().await;
    let sent = pair.send("hello").await;
    let (id, at) = (sent["message_id"].clone(), sent["timestamp"].clone());
    assert!(at.as_i64().is_some_and(|at| at > 1_700_000_000_000), "milliseconds: {at}");
    let expected = json!({
        "message_id": id, "seq": 1, "timestamp": at, "status": "sent", "delivery_mode": "fanout",
    });
    assert_eq!(sent, expected);
    let row = json!({
        "message_id": id, "seq": 1, "from": pair.alice.aid, "from_aid": pair.alice.aid, "to": pair.bobby.aid,
        "timestamp": at, "t_server": at, "type": "", "delivery_mode": "fanout", "encrypted": false,
        "payload": text("hello"),
    });
    assert_eq!(pair.receiver.next_message().await, row);
    let page = pull(&mut pair.receiver, 0).await;
    let mut pulled = row;
    pulled["version"] = "v1".into();
    pulled["legacy_v1"] = json!({ "payload": text("hello"), "to": pair.bobby.aid });
    let expected = json!({
        "messages": [pulled], "count": 1, "latest_seq": 1, "has_more": false, "server_ack_seq": 0,
        "ephemeral_earliest_available_seq": null, "ephemeral_dropped_count": 0,
    });
    assert_eq!(page, expected);
    assert_eq!(pull(&mut pair.receiver, 0).await, page, "reading changes nothing");
}

// covers: A2
#[tokio::test]
async fn message_id_makes_a_repeated_send_one_message() {
    let mut pair = Pair::start().await;
    let params = json!({ "to": pair.bobby.aid, "payload": text("once"), "message_id": "m-1" });
    let first = pair.sender.call("message.send", params.clone()).await.expect("sent");
    // At the other replica, as after a lost answer.
    let mut other = pair.alice.connected(pair.gateway.cluster.second.address).await;
    let second = other.call("message.send", params.clone()).await.expect("sent again");
    assert_eq!((&second["seq"], &second["status"]), (&json!(1), &json!("duplicate")));
    assert_eq!(second["timestamp"], first["timestamp"]);
    let changed = json!({ "to": pair.bobby.aid, "payload": text("other"), "message_id": "m-1" });
    let (code, message) = other.call_error("message.send", changed).await;
    assert_eq!(code, -32059);
    assert_eq!(message, "message_id: used for another message before; a message has an id of its own");
    // The id is the sender's: another sender can use it too.
    let own = json!({ "to": pair.bobby.aid, "payload": text("mine"), "message_id": "m-1" });
    pair.receiver.call("message.send", own).await.expect("sent");
    assert_eq!(texts(&pull(&mut pair.receiver, 0).await), ["once", "mine"]);
}

// covers: A4
#[tokio::test]
async fn concurrent_sends_at_two_replicas_have_gapless_seqs() {
    const SENDERS: usize = 6;
    const EACH: usize = 20;
    let gateway = Gateway::start().await;
    let bobby = gateway.register("bobby").await;
    let mut sending = Vec::new();
    for number in 0..SENDERS {
        let identity = gateway.register(&format!("sender-{number}")).await;
        let replica = if number % 2 == 0 { &gateway.cluster.first } else { &gateway.cluster.second };
        let mut socket = identity.connected(replica.address).await;
        let to = bobby.aid.clone();
        sending.push(async move {
            let mut seqs = Vec::new();
            for message in 0..EACH {
                seqs.push(
                    send(&mut socket, &to, &format!("{number}-{message}")).await["seq"]
                        .as_i64()
                        .expect("a seq"),
                );
            }
            assert!(seqs.is_sorted(), "{seqs:?}");
            seqs
        });
    }
    let mut all = futures::future::join_all(sending).await.concat();
    all.sort_unstable();
    let total = i64::try_from(SENDERS * EACH).expect("small");
    assert_eq!(all, (1..=total).collect::<Vec<_>>());
    let mut reader = bobby.connected(gateway.cluster.second.address).await;
    let (mut after, mut read) = (0, Vec::new());
    loop {
        let page =
            reader.call("message.pull", json!({ "after_seq": after, "limit": 50 })).await.expect("a page");
        read.extend(seqs(&page));
        after = page["latest_seq"].as_i64().expect("a seq");
        if page["has_more"] == false {
            break;
        }
    }
    assert_eq!(read, all);
}

// covers: A10
#[tokio::test]
async fn peer_offers_pass_as_ordinary_messages() {
    let mut pair = Pair::start().await;
    let offer = json!({
        "type": "peer.offer", "session_id": "upgrade-1", "from_mode": "gateway", "preferred_mode": "peer",
        "endpoints": [{ "url": "wss://alice.example/acp", "priority": 1 }], "expires_in": 30,
    });
    let params = json!({ "to": pair.bobby.aid, "payload": offer });
    pair.sender.call("message.send", params).await.expect("sent");
    assert_eq!(pair.receiver.next_message().await["payload"], offer);
    pair.send("the old channel stays usable").await;
    assert_eq!(pair.receiver.next_message().await["payload"]["text"], "the old channel stays usable");
}

// covers: A2
#[tokio::test]
async fn wrong_sends_are_refused_each_with_its_error() {
    let mut pair = Pair::start().await;
    let huge = "x".repeat(440_000);
    let to = pair.bobby.aid.clone();
    for (params, code, expected) in [
        (
            json!({ "to": "nobody.guild.example", "payload": {} }),
            -32050,
            "no AID nobody.guild.example is registered here",
        ),
        (
            json!({ "to": "bobby.other.example", "payload": {} }),
            -32070,
            "the AID belongs to another issuer: this server does not relay messages to other issuers",
        ),
        (json!({ "to": "no aid", "payload": {} }), -32602, "to: "),
        (json!({ "to": to, "payload": "text" }), -32602, "params: "),
        (json!({ "to": to }), -32602, "params: "),
        (json!({ "to": to, "payload": {}, "message_id": "" }), -32602, "message_id: "),
        (
            json!({ "to": to, "payload": {}, "delivery_mode": { "mode": "all" } }),
            -32602,
            "delivery_mode.mode: ",
        ),
        (json!({ "to": to, "payload": { "n": 1_u64 << 53 } }), -32602, "payload: whole numbers"),
        (json!({ "to": to, "payload": {}, "encrypted": true }), -32602, "payload: encrypted is true"),
        (json!({ "to": to, "payload": { "text": huge } }), -32051, "payload: larger than 440000 bytes"),
    ] {
        let (found, message) = pair.sender.call_error("message.send", params.clone()).await;
        assert_eq!(found, code, "{message}");
        assert!(message.starts_with(expected), "{message}");
    }
    assert_eq!(pull(&mut pair.receiver, 0).await["count"], 0);
}

// covers: A4
#[tokio::test]
async fn page_of_large_messages_stays_below_a_megabyte() {
    let mut pair = Pair::start().await;
    let large = "x".repeat(200_000);
    for _ in 0..4 {
        pair.send(&large).await;
    }
    let (mut after, mut pages) = (0, Vec::new());
    loop {
        let page = pull(&mut pair.receiver, after).await;
        assert!(page.to_string().len() < 1024 * 1024);
        after = page["latest_seq"].as_i64().expect("a seq");
        pages.push(seqs(&page));
        if page["has_more"] == false {
            break;
        }
    }
    assert_eq!(pages, [vec![1, 2], vec![3, 4]]);
}
