//! How far devices have confirmed, and the pages of single senders.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Pair, pull, send, texts};

// covers: A6, A9
#[tokio::test]
async fn confirmation_never_goes_back_and_tells_the_sender() {
    let mut pair = Pair::start().await;
    for words in ["one", "two", "three"] {
        pair.send(words).await;
        pair.receiver.next_message().await;
    }
    let first = pair.receiver.call("message.ack", json!({ "seq": 2 })).await.expect("confirmed");
    assert_eq!(first, json!({ "success": true, "ack_seq": 2 }));
    let (method, event) = pair.sender.next_event().await;
    assert_eq!(method, "event/message.ack");
    let expected = json!({
        "to": pair.bobby.aid, "device_id": "device-1", "slot_id": "default", "ack_seq": 2,
        "timestamp": event["timestamp"],
    });
    assert_eq!(event, expected);
    let back = pair.receiver.call("message.ack", json!({ "seq": 1 })).await.expect("confirmed");
    assert_eq!(back["ack_seq"], 2, "never back");
    let far = pair.receiver.call("message.ack", json!({ "seq": 999 })).await.expect("confirmed");
    assert_eq!(far["ack_seq"], 3, "not past the end");
    assert_eq!(pull(&mut pair.receiver, 0).await["server_ack_seq"], 3);
    assert_eq!(pair.sender.next_event().await.1["ack_seq"], 3, "the earlier confirmation was not told again");
}

/// Confirmations that arrive faster than their senders are told.
const ACKS: i64 = 50;

// covers: A6, A9
#[tokio::test]
async fn quick_confirmations_become_few_notices_with_the_highest_seq() {
    let mut pair = Pair::start().await;
    for number in 1..=ACKS {
        pair.send(&number.to_string()).await;
        pair.receiver.next_message().await;
    }
    let ack =
        |seq: i64| json!({ "jsonrpc": "2.0", "id": seq, "method": "message.ack", "params": { "seq": seq } });
    let seqs: Vec<i64> = (1..=ACKS).collect();
    let began = Instant::now();
    for batch in seqs.chunks(16) {
        let frame: Vec<Value> = batch.iter().map(|seq| ack(*seq)).collect();
        pair.receiver.send_text(json!(frame).to_string()).await;
    }
    let mut told: Vec<i64> = Vec::new();
    while told.last() != Some(&ACKS) {
        let (method, event) = pair.sender.next_event().await;
        assert_eq!(method, "event/message.ack", "{event}");
        told.push(event["ack_seq"].as_i64().expect("a seq"));
    }
    assert!(told.is_sorted_by(|earlier, later| earlier < later), "{told:?}");
    // One each 200 ms, whatever the time that the confirmations take.
    let paces = began.elapsed().as_millis() / 200;
    let count = u128::try_from(told.len()).expect("small");
    assert!(count <= paces + 1 && told.len() < seqs.len() / 2, "{told:?} in {paces} paces");
}

// covers: A5, A6
#[tokio::test]
async fn each_device_has_its_cursor_and_no_other() {
    let mut pair = Pair::start().await;
    pair.send("one").await;
    pair.send("two").await;
    let address = pair.gateway.cluster.first.address;
    let mut phone = pair.bobby.connected_device(address, "phone").await;
    phone
        .call("message.ack", json!({ "seq": 2, "device_id": "phone", "slot_id": "default" }))
        .await
        .expect("own");
    assert_eq!(pull(&mut pair.receiver, 0).await["server_ack_seq"], 0);
    for (method, params) in [
        ("message.ack", json!({ "seq": 2, "device_id": "phone" })),
        ("message.ack", json!({ "seq": 2, "slot_id": "other" })),
        ("message.pull", json!({ "device_id": "phone" })),
        ("message.v2.pull", json!({ "device_id": "phone" })),
        ("message.v2.ack", json!({ "up_to_seq": 2, "device_id": "phone" })),
    ] {
        let refused = pair.receiver.call_error(method, params).await;
        let expected = "device_id and slot_id: expected those of this connection, or none".to_owned();
        assert_eq!(refused, (-32004, expected), "{method}");
    }
    // A reconnect of the same device goes on where it was, at any replica. The label of a slot separates nothing.
    let slot =
        json!({ "device": { "id": "phone", "type": "sdk" }, "client": { "slot_id": "default/pocket" } });
    let mut again = pair.bobby.connected_with(pair.gateway.cluster.second.address, slot).await;
    assert_eq!(pull(&mut again, 0).await["server_ack_seq"], 2);
}

// covers: A6
#[tokio::test]
async fn clients_without_a_device_share_one_cursor() {
    let mut pair = Pair::start().await;
    pair.send("one").await;
    let legacy = json!({ "device": null, "client": null });
    let mut first = pair.bobby.connected_with(pair.gateway.cluster.first.address, legacy.clone()).await;
    first.call("message.ack", json!({ "seq": 1 })).await.expect("confirmed");
    let mut second = pair.bobby.connected_with(pair.gateway.cluster.second.address, legacy).await;
    assert_eq!(pull(&mut second, 0).await["server_ack_seq"], 1);
    assert_eq!(pull(&mut pair.receiver, 0).await["server_ack_seq"], 0, "not that of a device");
}

/// Checks what the official client checks of a page of one sender.
fn assert_proof(page: &Value, after: i64, limit: usize) -> (i64, bool) {
    let number = |name: &str| page[name].as_i64().expect(name);
    let (scan, covered, head) = (number("scan_after_seq"), number("covered_through_seq"), number("head_seq"));
    assert!(scan >= after.max(number("retention_floor_seq")), "{page}");
    assert!(scan <= covered && covered <= head, "{page}");
    assert_eq!(number("next_after_seq"), covered);
    let more = page["persistent_has_more"].as_bool().expect("a boolean");
    assert_eq!((&page["has_more"], &page["volatile_has_more"]), (&json!(more), &json!(false)));
    assert!(covered == head || more, "{page}");
    let rows = page["messages"].as_array().expect("rows");
    assert!(rows.len() <= limit);
    let seqs: Vec<i64> = rows.iter().map(|row| row["seq"].as_i64().expect("a seq")).collect();
    assert!(seqs.is_sorted() && seqs.iter().all(|seq| scan < *seq && *seq <= covered), "{page}");
    (covered, more)
}

// covers: A4, A6
#[tokio::test]
async fn pages_of_one_sender_prove_what_they_cover() {
    let mut pair = Pair::start().await;
    let carol = pair.gateway.register("carol").await;
    let mut third = carol.connected(pair.gateway.cluster.first.address).await;
    for number in 0..7 {
        pair.send(&format!("alice-{number}")).await;
        send(&mut third, &pair.bobby.aid, &format!("carol-{number}")).await;
    }
    let peers = pair.receiver.call("message.peers", json!({ "filter": "pending" })).await.expect("peers");
    let found: Vec<(&str, i64, i64)> = peers["peers"]
        .as_array()
        .expect("peers")
        .iter()
        .map(|peer| {
            let number = |name: &str| peer[name].as_i64().expect(name);
            (peer["sender_aid"].as_str().expect("an AID"), number("head_seq"), number("next_pending_seq"))
        })
        .collect();
    assert_eq!(found, [(pair.alice.aid.as_str(), 13, 1), (carol.aid.as_str(), 14, 2)]);
    assert_eq!((&peers["cursor_scope"], &peers["catalog_ready"]), (&json!("peer"), &json!(true)));
    assert_eq!((&peers["bootstrap_floor_seq"], peers.get("has_more")), (&json!(0), None));
    let (mut after, mut read) = (0, Vec::new());
    loop {
        let params = json!({
            "cursor_scope": "peer", "sender_aid": pair.alice.aid, "after_seq": after, "limit": 3,
        });
        let page = pair.receiver.call("message.v2.pull", params).await.expect("a page");
        let (covered, more) = assert_proof(&page, after, 3);
        let rows = page["messages"].as_array().expect("rows").iter();
        read.extend(rows.map(|row| row["legacy_v1"]["payload"]["text"].as_str().expect("a text").to_owned()));
        after = covered;
        if !more {
            break;
        }
    }
    assert_eq!(read, (0..7).map(|number| format!("alice-{number}")).collect::<Vec<_>>());
    let params = json!({ "cursor_scope": "peer", "sender_aid": pair.alice.aid, "up_to_seq": 13 });
    let acked = pair.receiver.call("message.v2.ack", params).await.expect("confirmed");
    let expected = json!({
        "success": true, "ack_seq": 13, "cursor_scope": "peer", "sender_aid": pair.alice.aid,
        "effective_ack_seq": 13, "peer_ack_seq": 13,
    });
    assert_eq!(acked, expected);
    let peers = pair.receiver.call("message.peers", json!({})).await.expect("peers");
    let left = peers["peers"].as_array().expect("peers");
    assert_eq!(left.len(), 1, "only carol is not confirmed: {peers}");
    assert_eq!((&left[0]["sender_aid"], &left[0]["server_ack_seq"]), (&json!(carol.aid), &json!(0)));
}

// covers: A4
#[tokio::test]
async fn page_of_a_sender_that_does_not_exist_is_empty() {
    let mut pair = Pair::start().await;
    pair.send("of somebody else").await;
    for sender in ["nobody.guild.example", "bobby.other.example"] {
        let params = json!({ "cursor_scope": "peer", "sender_aid": sender, "after_seq": 7, "limit": 10 });
        let page = pair.receiver.call("message.v2.pull", params).await.expect("a page");
        assert_eq!(assert_proof(&page, 7, 10), (7, false));
        assert_eq!((&page["sender_aid"], &page["messages"]), (&json!(sender), &json!([])));
    }
}

// covers: A3, A4
#[tokio::test]
async fn expired_messages_are_gone_and_their_seqs_are_not_used_again() {
    let mut pair = Pair::start().await;
    pair.send("old").await;
    let expire = "UPDATE inbox_messages SET expires_at = now() - interval '1 second'";
    pair.gateway.cluster.db.sql().await.execute(expire).await;
    pair.send("new").await;
    let page = pull(&mut pair.receiver, 0).await;
    assert_eq!((texts(&page), &page["latest_seq"]), (vec!["new".to_owned()], &json!(2)));
    let params = json!({ "cursor_scope": "peer", "sender_aid": pair.alice.aid, "after_seq": 0, "limit": 10 });
    let page = pair.receiver.call("message.v2.pull", params).await.expect("a page");
    assert_proof(&page, 0, 10);
    assert_eq!((&page["retention_floor_seq"], &page["scan_after_seq"]), (&json!(1), &json!(1)));
}
