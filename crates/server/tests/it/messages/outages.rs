//! Messages while NATS is down, and after a crash of PostgreSQL.

use std::fmt::Write;
use std::time::{Duration, Instant};

use guildhall_testkit::{PrivateEngines, Rounds, Stopwatch, TestDb};
use serde_json::{Value, json};

use super::{Pair, pull, seqs, text, texts};
use crate::support::Setup;
use crate::support::gateway::Gateway;

/// Messages that are sent one after the other, each when the last one has arrived. A poll each second takes about this many
/// seconds for them.
const ROUND_TRIPS: usize = 8;

/// Far below what a poll takes for them.
const LIVE: Duration = Duration::from_secs(4);

/// Waits until both replicas are connected to PostgreSQL and NATS.
async fn wait_until_ready(pair: &Pair) {
    for server in [&pair.gateway.cluster.first, &pair.gateway.cluster.second] {
        let limit = Duration::from_secs(120);
        server.wait_until("/health/readiness", limit, |response| response.body["status"] == "ready").await;
    }
}

/// Sends messages to the other replica, each after the last one was pushed. Returns how long it took.
async fn round_trips(pair: &mut Pair, count: usize) -> Duration {
    let waited = Stopwatch::start();
    for number in 0..count {
        let words = format!("round trip {number}");
        pair.send(&words).await;
        assert_eq!(pair.receiver.next_message().await["payload"]["text"], words);
    }
    waited.elapsed()
}

/// Asks the first replica who is online. Returns the answer for both AIDs, and how long it took.
async fn who_is_online(pair: &mut Pair) -> (Value, Duration) {
    let aids = [&pair.alice.aid, &pair.bobby.aid];
    let waited = Stopwatch::start();
    let answer = pair.sender.call("message.query_online", json!({ "aids": aids })).await.expect("an answer");
    let online = &answer["online"];
    (json!([online[&pair.alice.aid], online[&pair.bobby.aid]]), waited.elapsed())
}

/// `cargo xtask long nats-outage` keeps NATS away for a minute each time, CI for two seconds.
// covers: A2, A4, A8
#[tokio::test]
async fn messages_are_pushed_live_again_after_each_outage_of_nats() {
    let rounds = Rounds::from_env(2);
    let (outage_duration, mut report) = (Duration::from_secs(u64::from(rounds.size())), String::new());
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    // The replicas start without it.
    engines.nats.kill();
    let setup = Setup::with_private_engines(&db, &engines.urls());
    let mut pair = Pair::of(Gateway::open(setup, db).await).await;
    for outage in 0..2 {
        let began = Instant::now();
        let sent = pair.send("pulled").await;
        let after = sent["seq"].as_i64().expect("a seq") - 1;
        assert_eq!(texts(&pull(&mut pair.receiver, after).await), ["pulled"], "at once, without a push");
        assert_eq!(pair.receiver.next_message().await["payload"]["text"], "pulled");
        // Those that no poll has found yet are pushed together, in their order.
        let words: Vec<String> = (0..20).map(|number| format!("outage {outage} {number}")).collect();
        for words in &words {
            pair.send(words).await;
        }
        for words in &words {
            assert_eq!(pair.receiver.next_message().await["payload"]["text"], *words);
        }
        let (online, waited) = who_is_online(&mut pair).await;
        assert_eq!(online, json!([true, false]), "the other replica cannot be asked");
        assert!(waited < Duration::from_secs(1), "{waited:?}");
        let mut polled = words.len();
        while began.elapsed() < outage_duration {
            round_trips(&mut pair, 1).await;
            polled += 1;
        }
        let duration = began.elapsed();

        engines.nats.restart().expect("a running NATS");
        wait_until_ready(&pair).await;
        let elapsed = round_trips(&mut pair, ROUND_TRIPS).await;
        assert!(elapsed < LIVE, "{elapsed:?} for {ROUND_TRIPS} messages: pushed by the poll alone");
        let _infallible = writeln!(
            report,
            "- NATS away for {} s: {polled} messages accepted, each read by a pull or pushed after a poll of the other replica. \
             Afterwards {ROUND_TRIPS} messages one after the other were pushed in {} ms.",
            duration.as_secs(),
            elapsed.as_millis(),
        );
        let (online, waited) = who_is_online(&mut pair).await;
        assert_eq!(online, json!([true, true]));
        assert!(waited < Duration::from_secs(1), "{waited:?}");
        engines.nats.kill();
    }
    rounds.report(&report);
}

// covers: A3, A4
#[tokio::test]
async fn crash_of_postgresql_empties_the_ring_and_its_counters_say_so() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let setup = Setup::with_private_engines(&db, &engines.urls());
    let mut pair = Pair::of(Gateway::open(setup, db).await).await;
    let queue = |to: &str, words: &str| json!({ "to": to, "payload": text(words), "delivery_mode": { "mode": "queue" } });
    let to = pair.bobby.aid.clone();
    for words in ["one", "two", "three"] {
        pair.sender.call("message.send", queue(&to, words)).await.expect("sent");
    }
    pair.send("durable").await;
    let page = pull(&mut pair.receiver, 0).await;
    assert_eq!(texts(&page), ["one", "two", "three", "durable"]);

    engines.postgres.kill();
    engines.postgres.restart().expect("a running PostgreSQL");
    wait_until_ready(&pair).await;
    let mut pair = pair.reconnected().await;
    let page = pull(&mut pair.receiver, 0).await;
    let counters =
        |page: &Value| json!([page["ephemeral_earliest_available_seq"], page["ephemeral_dropped_count"]]);
    assert_eq!((texts(&page), seqs(&page)), (vec!["durable".to_owned()], vec![4]));
    assert_eq!(counters(&page), json!([null, 3]));

    pair.sender.call("message.send", queue(&to, "four")).await.expect("sent");
    let page = pull(&mut pair.receiver, 4).await;
    assert_eq!((texts(&page), seqs(&page)), (vec!["four".to_owned()], vec![5]));
    assert_eq!(counters(&page), json!([5, 3]));
}
