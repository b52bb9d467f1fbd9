//! Messages for one instance, and who is online.

use std::collections::BTreeSet;

use guildhall_testkit::{PrivateEngines, TestDb};
use serde_json::{Value, json};

use super::{Pair, pull, seqs, text, texts};
use crate::support::Setup;
use crate::support::aun_client::AunSocket;
use crate::support::gateway::Gateway;

async fn queue(socket: &mut AunSocket, to: &str, words: &str) -> Value {
    let params = json!({ "to": to, "payload": text(words), "delivery_mode": { "mode": "queue" } });
    socket.call("message.send", params).await.expect("sent")
}

fn worker(device: &str) -> Value {
    json!({ "device": { "id": device, "type": "sdk" }, "delivery_mode": { "mode": "queue" } })
}

// covers: A3
#[tokio::test]
async fn queue_messages_of_a_sender_go_to_one_worker() {
    let mut pair = Pair::start().await;
    let cluster = &pair.gateway.cluster;
    let mut first = pair.bobby.connected_with(cluster.first.address, worker("worker-1")).await;
    let mut second = pair.bobby.connected_with(cluster.second.address, worker("worker-2")).await;
    for number in 0..5 {
        let sent = queue(&mut pair.sender, &pair.bobby.aid, &number.to_string()).await;
        assert_eq!((&sent["delivery_mode"], &sent["seq"]), (&json!("queue"), &json!(number + 1)));
    }
    let (of_first, of_second) = (pull(&mut first, 0).await, pull(&mut second, 0).await);
    let counts: BTreeSet<usize> = [&of_first, &of_second].map(|page| seqs(page).len()).into();
    assert_eq!(counts, BTreeSet::from([0, 5]), "{of_first} {of_second}");
    let mut owner = if seqs(&of_first).is_empty() { second } else { first };
    for number in 0..5 {
        let event = owner.next_message().await;
        assert_eq!(
            (&event["delivery_mode"], &event["payload"]["text"]),
            (&json!("queue"), &json!(number.to_string()))
        );
    }
    // The device in the mode `fanout` gets none of them, but what is for all.
    pair.send("for all").await;
    let event = pair.receiver.next_message().await;
    assert_eq!((&event["seq"], &event["payload"]["text"]), (&json!(6), &json!("for all")));
    assert_eq!(texts(&pull(&mut pair.receiver, 0).await), ["for all"]);
}

// covers: A3, A4
#[tokio::test]
async fn ring_drops_its_oldest_message_at_201_and_counts_it() {
    let mut pair = Pair::start().await;
    for number in 1..=201 {
        queue(&mut pair.sender, &pair.bobby.aid, &number.to_string()).await;
        if number == 200 {
            let page = pull(&mut pair.receiver, 0).await;
            let counters = (&page["ephemeral_earliest_available_seq"], &page["ephemeral_dropped_count"]);
            assert_eq!(counters, (&json!(1), &json!(0)));
        }
    }
    let page =
        pair.receiver.call("message.pull", json!({ "after_seq": 0, "limit": 200 })).await.expect("a page");
    let counters = (&page["ephemeral_earliest_available_seq"], &page["ephemeral_dropped_count"]);
    assert_eq!(counters, (&json!(2), &json!(1)));
    assert_eq!(seqs(&page), (2..=201).collect::<Vec<_>>());
    let old = "UPDATE ring_messages SET sent_at = sent_at - interval '301 seconds' WHERE seq <= 150";
    pair.gateway.cluster.db.sql().await.execute(old).await;
    let page = pull(&mut pair.receiver, 0).await;
    let counters = (&page["ephemeral_earliest_available_seq"], &page["ephemeral_dropped_count"]);
    assert_eq!(counters, (&json!(151), &json!(150)), "five minutes");
}

// covers: A3
#[tokio::test]
async fn queue_message_waits_for_the_first_instance_that_asks() {
    let mut pair = Pair::start().await;
    let carol = pair.gateway.register("carol").await;
    queue(&mut pair.sender, &carol.aid, "waiting").await;
    let cluster = &pair.gateway.cluster;
    let mut first = carol.connected_device(cluster.first.address, "a").await;
    assert_eq!(texts(&pull(&mut first, 0).await), ["waiting"]);
    let mut second = carol.connected_device(cluster.second.address, "b").await;
    assert_eq!(texts(&pull(&mut second, 0).await), Vec::<String>::new());
}

// covers: A8
#[tokio::test]
async fn online_is_who_has_a_connection_to_any_replica() {
    let mut pair = Pair::start().await;
    let offline = pair.gateway.register("carol").await;
    let asked =
        [&pair.alice.aid, &pair.bobby.aid, &offline.aid, "nobody.guild.example", "alice.other.example", "-"];
    let answer = pair.sender.call("message.query_online", json!({ "aids": asked })).await.expect("an answer");
    let expected = json!({ "online": {
        &pair.alice.aid: true, &pair.bobby.aid: true, &offline.aid: false,
        "nobody.guild.example": false, "alice.other.example": false, "-": false,
    }});
    assert_eq!(answer, expected);
    let aids = vec![pair.alice.aid.clone(); 101];
    let (code, message) = pair.sender.call_error("message.query_online", json!({ "aids": aids })).await;
    assert_eq!((code, message.as_str()), (-32602, "aids: expected at most 100 AIDs"));
}

// covers: A3
#[tokio::test]
async fn without_nats_each_replica_picks_among_its_own_workers() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let setup = Setup::with_private_engines(&db, &engines.urls());
    let pair = Pair::of(Gateway::open(setup, db).await).await;
    let addresses = [pair.gateway.cluster.first.address, pair.gateway.cluster.second.address];
    let mut workers = Vec::new();
    for (address, device) in addresses.into_iter().zip(["worker-1", "worker-2"]) {
        workers.push(pair.bobby.connected_with(address, worker(device)).await);
    }
    let carol = pair.gateway.register("carol").await;
    let mut alone = carol.connected_with(addresses[1], worker("worker-3")).await;
    engines.nats.kill();
    // The same sender: its messages are not kept together any more.
    for (number, address) in addresses.into_iter().enumerate() {
        let mut sender = pair.alice.connected(address).await;
        for message in 0..3 {
            queue(&mut sender, &pair.bobby.aid, &format!("{number}-{message}")).await;
        }
    }
    for (number, worker) in workers.iter_mut().enumerate() {
        let expected: Vec<String> = (0..3).map(|message| format!("{number}-{message}")).collect();
        assert_eq!(texts(&pull(worker, 0).await), expected, "replica {number}");
        for words in expected {
            assert_eq!(worker.next_message().await["payload"]["text"], words);
        }
    }
    // A worker of another replica is not known: it gets the message when it pulls, without a push.
    let mut sender = pair.alice.connected(addresses[0]).await;
    queue(&mut sender, &carol.aid, "waiting").await;
    assert_eq!(texts(&pull(&mut alone, 0).await), ["waiting"]);
    // Nobody gets a message twice.
    let mut others = pair.bobby.connected_with(addresses[1], worker("worker-4")).await;
    assert_eq!(texts(&pull(&mut others, 0).await), Vec::<String>::new());
}

// covers: A3, A8
#[tokio::test]
async fn without_nats_messages_arrive_and_foreign_presence_is_unknown() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let setup = Setup::with_private_engines(&db, &engines.urls());
    let mut pair = Pair::of(Gateway::open(setup, db).await).await;
    engines.nats.kill();
    pair.send("by the timer").await;
    assert_eq!(pair.receiver.next_message().await["payload"]["text"], "by the timer");
    let aids = [&pair.alice.aid, &pair.bobby.aid];
    let answer = pair.sender.call("message.query_online", json!({ "aids": aids })).await.expect("an answer");
    let expected = json!({ "online": { &pair.alice.aid: true, &pair.bobby.aid: false } });
    assert_eq!(answer, expected, "the other replica cannot be asked");
}
